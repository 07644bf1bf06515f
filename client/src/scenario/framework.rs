//! What kind of server is measured.

use super::{Serialization, named};

/// A kind of server under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framework {
    /// Dubbo's Triple in gRPC mode.
    Triple,
    /// gRPC.
    Grpc,
    /// Length-prefixed messages over TCP: the machine's own limit.
    Raw,
}

named!(Framework, "framework", [Triple = "triple", Grpc = "grpc", Raw = "raw"]);

impl Framework {
    /// The port a server listens on unless told otherwise.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Triple => 20000,
            Self::Grpc => 50051,
            Self::Raw => 40000,
        }
    }

    /// The port of a server's debug endpoints unless told otherwise. 8002 is the Dubbo protocol's.
    pub const fn default_debug_port(self) -> u16 {
        match self {
            Self::Triple => 8000,
            Self::Grpc => 8001,
            Self::Raw => 8003,
        }
    }

    /// Whether messages can be encoded so for this kind of server.
    ///
    /// # Errors
    /// Why not, in a sentence.
    pub const fn speaks(self, serialization: Serialization) -> Result<(), &'static str> {
        match (self, serialization) {
            (_, Serialization::Protobuf) | (Self::Triple, _) => Ok(()),
            (Self::Grpc, _) => {
                Err("gRPC carries protobuf only: hessian2 and msgpack are arguments in Triple's envelopes")
            }
            (Self::Raw, _) => Err("the raw echo carries bytes, no messages"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frameworks_are_read_by_their_names() {
        for framework in Framework::ALL {
            assert_eq!(framework.to_string().parse(), Ok(framework));
            assert_eq!(serde_json::to_value(framework).unwrap(), framework.name());
        }
        assert_eq!(
            "gprc".parse::<Framework>().unwrap_err().to_string(),
            "framework \"gprc\": must be one of triple, grpc, raw"
        );
    }

    #[test]
    fn only_triple_speaks_other_serializations() {
        for serialization in Serialization::ALL {
            assert!(Framework::Triple.speaks(serialization).is_ok());
            assert_eq!(Framework::Grpc.speaks(serialization).is_ok(), serialization == Serialization::Protobuf);
        }
    }
}
