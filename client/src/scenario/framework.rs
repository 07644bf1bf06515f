//! What kind of server is measured.

use std::{fmt, str::FromStr};

use super::{NameError, PEERS, Peer, Serialization};

/// A kind of server under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Framework {
    /// Our own of Dubbo's Triple in gRPC mode.
    Triple,
    /// Our own of gRPC.
    Grpc,
    /// Length-prefixed messages over TCP: the machine's own limit.
    Raw,
    /// Somebody else's, of one of the same protocols.
    Peer(&'static Peer),
    /// Any server of gRPC, with a call of the user's own. Not among [`all`](Self::all): it is asked for by that call.
    Call,
    /// Any server of plain HTTP/1.1, with a request of the user's own; not among them either.
    Http1,
    /// The same over HTTP/2.
    H2,
}

/// What goes over the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Dubbo's Triple in gRPC mode.
    Triple,
    /// gRPC.
    Grpc,
    /// Length-prefixed messages over TCP.
    Raw,
    /// Framed Thrift, in the strict binary encoding.
    Thrift,
    /// Kitex Protobuf: protobuf messages in frames as Thrift has them.
    KitexProtobuf,
    /// Dubbo's own protocol over TCP.
    Dubbo,
    /// HTTP without an RPC protocol in it.
    Http,
}

impl Protocol {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Triple => "Triple",
            Self::Grpc => "gRPC",
            Self::Raw => "raw",
            Self::Thrift => "Thrift",
            Self::KitexProtobuf => "Kitex Protobuf",
            Self::Dubbo => "Dubbo",
            Self::Http => "HTTP",
        }
    }

    /// Whether calls are frames over TCP, with nothing beside the message: they can't be compressed, nor streamed.
    pub const fn is_framed(self) -> bool {
        match self {
            Self::Triple | Self::Grpc | Self::Http => false,
            Self::Raw | Self::Thrift | Self::KitexProtobuf | Self::Dubbo => true,
        }
    }

    /// How messages are encoded unless it is asked for.
    pub const fn serialization(self) -> Serialization {
        match self {
            Self::Triple | Self::Grpc | Self::Raw | Self::KitexProtobuf | Self::Http => Serialization::Protobuf,
            Self::Thrift => Serialization::Thrift,
            Self::Dubbo => Serialization::Hessian2,
        }
    }
}

impl Protocol {
    /// Whether it is HTTP/2, which gateways know.
    pub const fn is_http2(self) -> bool {
        matches!(self, Self::Triple | Self::Grpc)
    }
}

impl Framework {
    /// Those whose servers are part of this program, in the order of tables.
    pub const OURS: [Self; 3] = [Self::Triple, Self::Grpc, Self::Raw];

    /// Every one, in the order of tables.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::OURS.into_iter().chain(PEERS.iter().map(Self::Peer))
    }

    /// The names of all.
    pub fn names() -> Vec<&'static str> {
        Self::all().map(Self::name).collect()
    }

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Triple => "triple",
            Self::Grpc => "grpc",
            Self::Raw => "raw",
            Self::Peer(peer) => peer.name,
            Self::Call => "call",
            Self::Http1 => "http1",
            Self::H2 => "h2",
        }
    }

    /// What it speaks.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Triple => Protocol::Triple,
            Self::Grpc | Self::Call => Protocol::Grpc,
            Self::Raw => Protocol::Raw,
            Self::Http1 | Self::H2 => Protocol::Http,
            Self::Peer(peer) => peer.protocol,
        }
    }

    /// The port a server listens on unless told otherwise.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Triple => 20000,
            Self::Grpc | Self::Call => 50051,
            Self::Raw => 40000,
            Self::Http1 | Self::H2 => 80,
            Self::Peer(peer) => peer.port,
        }
    }

    /// Whether what is sent is the user's own, in place of the echo.
    pub const fn is_own_call(self) -> bool {
        matches!(self, Self::Call | Self::Http1 | Self::H2)
    }

    /// Whether a message is encoded in some way, so that it can be said how; else it is bytes.
    pub const fn has_messages(self) -> bool {
        !matches!(self.protocol(), Protocol::Raw | Protocol::Http)
    }

    /// Whether its debug endpoints have profiles.
    pub const fn has_profiles(self) -> bool {
        match self {
            Self::Triple | Self::Grpc | Self::Raw | Self::Call | Self::Http1 | Self::H2 => true,
            Self::Peer(peer) => peer.recipe.has_profiles(),
        }
    }

    /// Whether messages can be encoded so for this kind of server.
    ///
    /// # Errors
    /// Why not, in a sentence.
    pub fn speaks(self, serialization: Serialization) -> Result<(), &'static str> {
        match (self, self.protocol(), serialization) {
            (_, protocol, _) if protocol.serialization() == serialization => Ok(()),
            (Self::Triple, _, Serialization::Hessian2 | Serialization::Msgpack) => Ok(()),
            (Self::Call, ..) => Err("the call's message is protobuf, as its schema has it"),
            (Self::Peer(peer), ..) if peer.serializations.contains(&serialization) => Ok(()),
            (_, Protocol::Thrift, _) => Err("Thrift has an encoding of its own: thrift"),
            (_, Protocol::KitexProtobuf, _) => Err("Kitex Protobuf carries protobuf only"),
            (_, Protocol::Dubbo, _) => Err("Dubbo's own protocol is measured with hessian2 only"),
            (_, Protocol::Triple | Protocol::Grpc, Serialization::Thrift) => {
                Err("it is a message of Thrift's calls, which kitex-thrift measures")
            }
            (_, Protocol::Grpc, _) => {
                Err("gRPC carries protobuf only: hessian2 and msgpack are arguments in Triple's envelopes")
            }
            (_, Protocol::Triple, _) => Err("this server has no service of it"),
            (_, Protocol::Raw, _) => Err("the raw echo carries bytes, no messages"),
            (_, Protocol::Http, _) => Err("a plain request's body is as it is given"),
        }
    }
}

impl FromStr for Framework {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let found = Self::all().find(|known| known.name() == text);
        found.ok_or_else(|| NameError::new("framework", text, &Self::names()))
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn frameworks_are_read_by_their_names() {
        for framework in Framework::all() {
            assert_eq!(framework.to_string().parse(), Ok(framework));
        }
        let names = Framework::names();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
        let error = "gprc".parse::<Framework>().unwrap_err().to_string();
        assert_eq!(error, format!("framework \"gprc\": must be one of {}", names.join(", ")));
    }

    #[test]
    fn only_triple_speaks_more_than_one_serialization() {
        for serialization in Serialization::ALL {
            assert_eq!(Framework::Triple.speaks(serialization).is_ok(), serialization != Serialization::Thrift);
            for framework in Framework::all().filter(|framework| framework.protocol() != Protocol::Triple) {
                let own = framework.protocol().serialization();
                assert_eq!(framework.speaks(serialization).is_ok(), serialization == own, "{framework}");
            }
        }
    }
}
