//! TLS to a server of somebody else's: whose certificates are trusted, and who we are.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    },
};

/// The names of HTTP/2 and HTTP/1.1 in TLS (RFC 9113, 3.2; RFC 7301, 6).
const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// How TLS is to be spoken.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Certificates of those who may have signed the server's, in PEM. `None` is the system's.
    pub ca: Option<PathBuf>,
    /// Our own certificate, with those above it, and its key, in PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate must be for: a DNS name or an IP address.
    pub server_name: String,
    /// Take any certificate for any name.
    pub insecure: bool,
    /// Speak HTTP/1.1 in it, and not HTTP/2.
    pub http1: bool,
}

/// TLS as a client speaks it with one server.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// What TLS can't be spoken with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of certificates, or of a key, that is none.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The system's certificates can't be had.
    #[error("the system has no certificates to trust: {0}")]
    System(String),
    /// Not the name of a server.
    #[error("server name {0:?}: must be a DNS name or an IP address")]
    Name(String),
    /// Certificate and key don't belong together, or aren't for TLS.
    #[error("{0}")]
    Config(#[from] rustls::Error),
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`] names the file and what is wrong with it.
    pub fn new(options: &TlsOptions) -> Result<Self, TlsError> {
        let name = options.server_name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name.clone()).map_err(|_| TlsError::Name(name))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let builder = match options.insecure {
            true => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
            false => builder.with_root_certificates(trusted(options.ca.as_deref())?),
        };
        let mut config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let key_problem = |error: rustls::pki_types::pem::Error| file(key, format!("no private key: {error}"));
                builder.with_client_auth_cert(
                    certificates(cert)?,
                    PrivateKeyDer::from_pem_file(key).map_err(key_problem)?,
                )?
            }
        };
        config.alpn_protocols = vec![if options.http1 { HTTP1 } else { H2 }.to_vec()];
        Ok(Self { config: Arc::new(config), name })
    }

    /// Shakes hands over a socket.
    ///
    /// # Errors
    /// What the other side, or its certificate, is not.
    pub(in crate::load) async fn connect<S>(&self, socket: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let connecting = TlsConnector::from(self.config.clone()).connect(self.name.clone(), socket);
        let stream = connecting.await.map_err(explained)?;
        match stream.get_ref().1.alpn_protocol() {
            Some(H2) => Ok(stream),
            // A server that knows no other HTTP need not say which it speaks.
            Some(HTTP1) => Ok(stream),
            None if self.config.alpn_protocols[0] == HTTP1 => Ok(stream),
            _ => Err(io::Error::other("the server agrees to no HTTP/2 (h2 in ALPN)")),
        }
    }
}

/// An error that says what it means where what answers speaks no TLS at all.
fn explained(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => io::Error::other(format!("what answers is no TLS: {error}")),
        _ => error,
    }
}

/// `TLSv1_3, TLS13_AES_256_GCM_SHA384`
pub(in crate::load) fn agreed<S>(stream: &TlsStream<S>) -> String {
    let connection = stream.get_ref().1;
    let version = connection.protocol_version().map(|version| format!("{version:?}"));
    let suite = connection.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
    [version, suite].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn trusted(ca: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| file(path, error.to_string()))?;
            }
        }
        None => {
            let system = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(system.certs);
            if roots.is_empty() {
                let errors: Vec<String> = system.errors.iter().map(ToString::to_string).collect();
                return Err(TlsError::System(if errors.is_empty() {
                    "none found".to_owned()
                } else {
                    errors.join("; ")
                }));
            }
        }
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |error: rustls::pki_types::pem::Error| file(path, format!("no certificates: {error}"));
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(wrong)?.collect();
    match read.map_err(wrong)? {
        none if none.is_empty() => Err(file(path, "no certificate in it: must be PEM".to_owned())),
        certificates => Ok(certificates),
    }
}

fn file(path: &Path, problem: String) -> TlsError {
    TlsError::File { path: path.to_owned(), problem }
}

/// Trusts every certificate, once its owner has shown to have the key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
