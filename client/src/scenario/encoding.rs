//! How messages are written: serialization, compression, and what the payload is made of.

use super::named;

/// How a message is encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Serialization {
    /// The message of the service's schema.
    #[default]
    Protobuf,
    /// In Hessian 2.0: a byte array as an argument in Triple's envelope, or an object in a call of Dubbo's own protocol.
    Hessian2,
    /// A byte array in MessagePack, as an argument in Triple's envelope.
    Msgpack,
    /// The same message in Thrift's binary encoding, in a call of Thrift's.
    Thrift,
}

named!(
    Serialization,
    "serialization",
    [Protobuf = "protobuf", Hessian2 = "hessian2", Msgpack = "msgpack", Thrift = "thrift"]
);

/// How hard messages are compressed, with gzip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// At level 6, the default of zlib and of Go.
    Default,
    /// At level 1.
    Fastest,
    /// At level 9.
    Best,
}

named!(Compression, "compression", [None = "none", Default = "default", Fastest = "fastest", Best = "best"]);

impl Compression {
    /// gzip's level. `None` when nothing is compressed.
    pub const fn gzip_level(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Default => Some(6),
            Self::Fastest => Some(1),
            Self::Best => Some(9),
        }
    }
}

/// What a payload is made of, which decides how far it can be compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PayloadPattern {
    /// Pseudo-random bytes, always the same: no compressor shrinks them.
    #[default]
    Random,
    /// Zeros: a compressor leaves next to nothing.
    Zeros,
    /// English words: a compressor leaves about a third.
    Text,
    /// What the user gave: the message of a call of their own.
    Given,
}

named!(PayloadPattern, "payload pattern", [Random = "random", Zeros = "zeros", Text = "text"], [Given = "given"]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_written_and_serialised_alike() {
        for compression in Compression::ALL {
            assert_eq!(compression.name().parse(), Ok(compression));
            assert_eq!(serde_json::to_value(compression).unwrap(), compression.name());
        }
        for pattern in PayloadPattern::ALL {
            assert_eq!(serde_json::to_value(pattern).unwrap(), pattern.to_string());
        }
        assert_eq!(
            "zip".parse::<Compression>().unwrap_err().to_string(),
            "compression \"zip\": must be one of none, default, fastest, best"
        );
    }
}
