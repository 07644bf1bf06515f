//! Layers of a server: which crates and Go packages belong to which.

use super::origin::Origin;

/// The layers that come with the program, as [`Layers::parse`] reads them; the text says how it is written.
pub const BUILTIN_LAYERS: &str = include_str!("layers.txt");

/// The layer that works for whoever calls it.
const STD: &str = "std";
/// The layer of the program's own code that the map doesn't name.
const APPLICATION: &str = "application";
/// The layer of dependencies that the map doesn't name.
const OTHER: &str = "other";

/// A map of crates and Go packages to layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// From the top down, as listed.
    names: Vec<String>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    start: String,
    /// Whether the name may go on in the middle of a word.
    is_open: bool,
    layer: usize,
}

/// Why a text is no map of layers.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LayersError {
    /// A line is something else than a layer with names.
    #[error(
        "line {line}: {text:?}: must be a layer, a colon and names of crates or Go packages, as \"codec: prost serde\""
    )]
    Line {
        /// Which, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A name is in two layers.
    #[error("line {line}: {name} is in {layer} already")]
    Twice {
        /// Which line, from 1.
        line: usize,
        /// The name.
        name: String,
        /// The layer that has it.
        layer: String,
    },
    /// There is nothing in it.
    #[error("has no layer; a line of it is as \"codec: prost serde\"")]
    Empty,
}

impl Layers {
    /// Reads a map. [`BUILTIN_LAYERS`] is an example, and says what it all means.
    ///
    /// # Errors
    /// [`LayersError`] names the line.
    pub fn parse(text: &str) -> Result<Self, LayersError> {
        let mut layers = Self { names: Vec::new(), entries: Vec::new() };
        for (at, text) in text.lines().enumerate() {
            let (line, text) = (at + 1, text.split('#').next().unwrap_or("").trim());
            if text.is_empty() {
                continue;
            }
            let wrong = || LayersError::Line { line, text: text.to_owned() };
            let (layer, entries) = text.split_once(':').ok_or_else(wrong)?;
            if layer.trim().is_empty() || entries.trim().is_empty() || entries.starts_with(':') {
                return Err(wrong());
            }
            let layer = layers.number(layer.trim());
            for name in entries.split_whitespace() {
                layers.add(name, layer, line)?;
            }
        }
        if layers.entries.is_empty() { Err(LayersError::Empty) } else { Ok(layers) }
    }

    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    fn add(&mut self, name: &str, layer: usize, line: usize) -> Result<(), LayersError> {
        let (start, is_open) = name.strip_suffix('*').map_or((name, false), |start| (start, true));
        let entry = Entry { start: start.to_owned(), is_open, layer };
        let same = |known: &&Entry| known.start == entry.start && known.is_open == entry.is_open;
        if let Some(known) = self.entries.iter().find(same) {
            return Err(LayersError::Twice { line, name: name.to_owned(), layer: self.names[known.layer].clone() });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// The layer of code.
    pub(super) fn of(&self, origin: &Origin) -> &str {
        let fitting = self.entries.iter().filter(|entry| entry.fits(&origin.path));
        match (fitting.max_by_key(|entry| entry.start.len()), origin.is_dependency) {
            (Some(entry), _) => &self.names[entry.layer],
            (None, Some(false)) => APPLICATION,
            (None, _) => OTHER,
        }
    }

    /// Whether code works for whoever calls it.
    pub(super) fn is_std(&self, origin: &Origin) -> bool {
        self.of(origin) == STD
    }

    /// Where a layer stands, from the top down; those that the map doesn't name come last.
    pub(super) fn place(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or(self.names.len())
    }

    /// What a stack is in that has nothing but std.
    pub(super) fn last_resort() -> &'static str {
        STD
    }
}

impl Entry {
    fn fits(&self, path: &str) -> bool {
        path.strip_prefix(&self.start)
            .is_some_and(|rest| self.is_open || rest.is_empty() || rest.starts_with([':', '/', '.']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(path: &str, is_dependency: Option<bool>) -> Origin {
        Origin { package: String::new(), path: path.to_owned(), is_dependency }
    }

    #[test]
    fn the_longest_name_counts() {
        let layers = Layers::parse(BUILTIN_LAYERS).expect("the map built in is one");
        for (path, layer) in [
            ("tonic::codec::encode::EncodedBytes::new", "codec"),
            ("tonic::server::grpc::Grpc::unary", "RPC framework"),
            ("h2::codec::framed_read::FramedRead::poll_next", "HTTP/2"),
            ("h2", "HTTP/2"),
            ("google.golang.org/grpc.(*Server).handleStream", "RPC framework"),
            ("google.golang.org/grpc/internal/transport.(*http2Server).operateHeaders", "HTTP/2"),
            ("net/http.(*conn).serve", "HTTP/2"),
            ("net.(*conn).Read", "runtime"),
            ("crypto/tls.(*Conn).Read", "TLS"),
            ("runtime.mallocgcTiny", "std"),
            ("runtime.schedule", "runtime"),
            ("tokio::runtime::task::raw::poll", "runtime"),
            ("core::ptr::drop_in_place", "std"),
            ("[libc.so.6]", "std"),
            ("main.main", "application"),
            ("echo_server::handler::echo", "application"),
            ("echo_server::triple::status::grpc_trailers", "RPC framework"),
        ] {
            assert_eq!(layers.of(&origin(path, None)), layer, "{path}");
        }
        let unlisted = |is_dependency| layers.of(&origin("h2o::serve", is_dependency)).to_owned();
        assert_eq!([Some(false), Some(true), None].map(unlisted), ["application", "other", "other"]);
    }

    #[test]
    fn what_is_wrong_in_a_map_is_said_with_its_line() {
        let error = |text| Layers::parse(text).expect_err(text).to_string();
        assert_eq!(
            error("# mine\n\ncodec prost"),
            "line 3: \"codec prost\": must be a layer, a colon and names of crates or Go packages, as \"codec: prost serde\""
        );
        assert!(error("tonic::codec").starts_with("line 1: "), "{}", error("tonic::codec"));
        assert!(error("codec:  # nothing").starts_with("line 1: "));
        assert_eq!(error("a: x\nb: y x"), "line 2: x is in a already");
        assert_eq!(error("# nothing"), "has no layer; a line of it is as \"codec: prost serde\"");
    }
}
