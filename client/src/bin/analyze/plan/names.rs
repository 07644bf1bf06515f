//! What settings are called where they were given, which is what errors and warnings call them.

use analyze::scenario::Framework;

/// How settings were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// By flags.
    Flags,
    /// By keys of a config.
    Keys,
}

impl Names {
    /// `addr`, `debug` or `pid` of a server that runs already: `--addr grpc`, `servers.grpc.addr`.
    pub(crate) fn of_server(self, framework: Framework, key: &str) -> String {
        match self {
            // There is but one server then.
            Self::Flags if framework.is_own_call() => format!("--{key}"),
            Self::Flags => format!("--{key} {framework}"),
            Self::Keys => format!("servers.{framework}.{key}"),
        }
    }

    /// A key of `load`: `--messages-per-stream`, `load.messages_per_stream`.
    pub(crate) fn of_load(self, key: &str) -> String {
        match self {
            Self::Flags => flag(key),
            Self::Keys => format!("load.{key}"),
        }
    }

    /// A key that stands by itself: `--server-cpus`, `server_cpus`.
    pub(super) fn alone(self, key: &str) -> String {
        match self {
            Self::Flags => flag(key),
            Self::Keys => key.to_owned(),
        }
    }
}

fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_a_flag_and_a_key() {
        let names = |names: Names| {
            [
                names.of_server(Framework::Grpc, "debug"),
                names.of_load("messages_per_stream"),
                names.alone("server_cpus"),
            ]
        };
        assert_eq!(names(Names::Flags), ["--debug grpc", "--messages-per-stream", "--server-cpus"]);
        assert_eq!(names(Names::Keys), ["servers.grpc.debug", "load.messages_per_stream", "server_cpus"]);
    }
}
