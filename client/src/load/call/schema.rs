//! Methods and messages, by name, and their JSON.

use std::path::{Path, PathBuf};

use http::uri::PathAndQuery;
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, ServiceDescriptor,
    prost_types::FileDescriptorSet,
};

use super::CallKind;

/// Services and the messages they speak in.
#[derive(Debug)]
pub struct Schema {
    pool: DescriptorPool,
    /// Where it came from.
    source: String,
}

/// A method that can be called.
#[derive(Debug, Clone)]
pub struct Method {
    descriptor: MethodDescriptor,
    name: String,
    schema: String,
}

/// What is wrong with a schema, or with what is asked of it.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A `.proto` file can't be compiled.
    #[error("{0}")]
    Proto(String),
    /// Descriptors don't make a schema.
    #[error("the server's descriptors: {0}")]
    Descriptors(String),
    /// No `package.Service/Method`.
    #[error("{0:?}: must be package.Service/Method")]
    Name(String),
    /// A service that isn't there.
    #[error("{name:?}: no service {service}; there {}", are(.known, "is no service", "is", "are"))]
    Service {
        /// The method asked for.
        name: String,
        /// Its service.
        service: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// A method that the service doesn't have.
    #[error("{name:?}: {service} has no method {method}; it has {}", .known.join(", "))]
    Method {
        /// The method asked for.
        name: String,
        /// Its service.
        service: String,
        /// Its last part.
        method: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// A method with a stream of requests.
    #[error("{0:?}: takes a stream of requests: one request a call is what can be sent")]
    ClientStreaming(String),
    /// A text that is no message.
    #[error("no {message}: {problem}{known}")]
    Json {
        /// The message's name.
        message: String,
        /// What is wrong, and where.
        problem: String,
        /// `; my.Hello has name`, where it has another field. Else empty.
        known: String,
    },
}

impl Schema {
    /// Of a `.proto` file and what it imports from the folders of `imports`; without any, from the file's own. The well-known types
    /// are there anyway.
    ///
    /// # Errors
    /// [`SchemaError::Proto`], with file, line and column.
    pub fn from_proto(file: &Path, imports: &[PathBuf]) -> Result<Self, SchemaError> {
        let mut folders = imports.to_vec();
        if !imports.iter().any(|folder| file.starts_with(folder)) {
            let own = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folders.insert(0, own.to_owned());
        }
        // In its debug form the error has file, line and column; what follows the first line is the path of folders.
        let first_line = |error: protox::Error| {
            let text = format!("{error:?}");
            SchemaError::Proto(text.lines().next().unwrap_or_default().to_owned())
        };
        let files = protox::compile([file], &folders).map_err(first_line)?;
        let pool =
            DescriptorPool::from_file_descriptor_set(files).map_err(|error| SchemaError::Proto(error.to_string()))?;
        Ok(Self { pool, source: file.display().to_string() })
    }

    /// Of what a server tells of itself.
    ///
    /// # Errors
    /// [`SchemaError::Descriptors`].
    pub fn from_reflection(files: FileDescriptorSet) -> Result<Self, SchemaError> {
        let pool = DescriptorPool::from_file_descriptor_set(files)
            .map_err(|error| SchemaError::Descriptors(error.to_string()))?;
        Ok(Self { pool, source: "reflection".to_owned() })
    }

    /// A method by its name, `package.Service/Method`.
    ///
    /// # Errors
    /// [`SchemaError::Name`], [`SchemaError::Service`], [`SchemaError::Method`] and [`SchemaError::ClientStreaming`].
    pub fn method(&self, name: &str) -> Result<Method, SchemaError> {
        let (service, method) = split(name)?;
        let known = || self.pool.services().map(|service| service.full_name().to_owned()).collect();
        let service = self.pool.get_service_by_name(service).ok_or_else(|| no_service(name, known()))?;
        let descriptor = service.methods().find(|known| known.name() == method).ok_or_else(|| SchemaError::Method {
            name: name.to_owned(),
            service: service.full_name().to_owned(),
            method: method.to_owned(),
            known: methods(&service),
        })?;
        if descriptor.is_client_streaming() {
            return Err(SchemaError::ClientStreaming(name.to_owned()));
        }
        let name = format!("{}/{method}", service.full_name());
        Ok(Method { descriptor, name, schema: self.source.clone() })
    }
}

/// The service and the method of a name.
///
/// # Errors
/// [`SchemaError::Name`].
pub(super) fn split(name: &str) -> Result<(&str, &str), SchemaError> {
    let is_name = |part: &str| {
        part.split('.').all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    let parts = name.strip_prefix('/').unwrap_or(name).split_once('/');
    parts
        .filter(|(service, method)| is_name(service) && is_name(method) && !method.contains('.'))
        .ok_or_else(|| SchemaError::Name(name.to_owned()))
}

/// That a method's service isn't among those known.
pub(super) fn no_service(name: &str, known: Vec<String>) -> SchemaError {
    let service = name.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
    SchemaError::Service { name: name.to_owned(), service, known }
}

/// What the service has; a method that can't be called is there all the same.
fn methods(service: &ServiceDescriptor) -> Vec<String> {
    service.methods().map(|method| method.name().to_owned()).collect()
}

impl Method {
    /// `package.Service/Method`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many replies it has.
    pub fn kind(&self) -> CallKind {
        if self.descriptor.is_server_streaming() { CallKind::ServerStreaming } else { CallKind::Unary }
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    pub(super) fn path(&self) -> PathAndQuery {
        format!("/{}", self.name).parse().expect("names are letters, digits, underlines and dots")
    }

    pub(super) fn output(&self) -> MessageDescriptor {
        self.descriptor.output()
    }

    /// The request that a JSON text is.
    pub(super) fn request(&self, text: &str) -> Result<DynamicMessage, SchemaError> {
        read(self.descriptor.input(), text)
    }

    /// The reply that a JSON text is, as it comes: a field that has its default isn't there.
    pub(super) fn reply(&self, text: &str) -> Result<DynamicMessage, SchemaError> {
        let message = self.descriptor.output();
        let written = read(message.clone(), text)?.encode_to_vec();
        DynamicMessage::decode(message.clone(), &written[..]).map_err(|error| SchemaError::Json {
            message: message.full_name().to_owned(),
            problem: error.to_string(),
            known: String::new(),
        })
    }
}

/// Protobuf's JSON, in which a field has either of its names.
fn read(message: MessageDescriptor, text: &str) -> Result<DynamicMessage, SchemaError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = DynamicMessage::deserialize(message.clone(), &mut json);
    read.and_then(|read| json.end().map(|()| read)).map_err(|error| {
        let problem = error.to_string();
        let known = if problem.contains("unrecognized field name") { fields(&message) } else { String::new() };
        SchemaError::Json { message: message.full_name().to_owned(), problem, known }
    })
}

/// `; my.Hello has name`
fn fields(message: &MessageDescriptor) -> String {
    let fields: Vec<String> = message.fields().map(|field| field.name().to_owned()).collect();
    let fields = if fields.is_empty() { "no fields".to_owned() } else { fields.join(", ") };
    format!("; {} has {fields}", message.full_name())
}

/// A message as protobuf's JSON.
pub(super) fn json(message: &DynamicMessage) -> String {
    // What has no JSON is an `Any` of a type that isn't in the schema.
    serde_json::to_string(message).unwrap_or_else(|error| format!("no JSON: {error}"))
}

fn are(known: &[String], none: &str, one: &str, some: &str) -> String {
    match known {
        [] => none.to_owned(),
        [only] => format!("{one} {only}"),
        known => format!("{some} {}", known.join(", ")),
    }
}
