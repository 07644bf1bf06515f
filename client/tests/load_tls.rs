//! Calls over TLS: who is trusted, who isn't, and what is said then.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails where the test should")]

mod load_support;

use std::{convert::Infallible, fs, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use analyze::{
    load::{Call, Case, Driver, LoadError, LoadSpec, ReflectionError, Schema, Tls, TlsOptions, Wire, reflect},
    scenario::{Framework, Payload, PayloadPattern, Scenario},
};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn as server, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use load_support::{
    greeter::{answer, pool, protos},
    listen, requests, run,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};
use tempfile::TempDir;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

/// An authority, and a folder with what it signed.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    /// Of a name of its own, by which certificates say who signed them.
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate of this name and its key, as `<name>.pem` and `<name>.key`; one that isn't valid any more if `expired`.
    fn sign(&self, name: &str, expired: bool) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if expired {
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2020, 2, 1));
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.path(&format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    /// The greeter behind the certificate of this name; with `asks` a client must have one of this authority too.
    async fn serve(&self, name: &str, asks: bool, alpn: &str) -> SocketAddr {
        let (acceptor, pool) = (self.acceptor(name, asks, alpn), pool());
        listen(move |socket| {
            let (acceptor, pool) = (acceptor.clone(), pool.clone());
            async move {
                let Ok(socket) = acceptor.accept(socket).await else { return };
                let Ok(mut connection) = h2::server::handshake(socket).await else { return };
                while let Some(Ok((request, respond))) = connection.accept().await {
                    let pool = pool.clone();
                    let path = request.uri().path().to_owned();
                    tokio::spawn(async move { answer(&pool, &path, request, respond).await });
                }
            }
        })
        .await
    }

    /// A plain server of either version of HTTP, whose name is `localhost`.
    async fn serve_plain(&self, framework: Framework) -> SocketAddr {
        let http1 = framework == Framework::Http1;
        let acceptor = self.acceptor("localhost", false, if http1 { "http/1.1" } else { "h2" });
        listen(move |socket| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(socket) = acceptor.accept(socket).await else { return };
                let socket = TokioIo::new(socket);
                let _ = match http1 {
                    true => server::http1::Builder::new().serve_connection(socket, service_fn(hello)).await,
                    false => {
                        server::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(socket, service_fn(hello))
                            .await
                    }
                };
            }
        })
        .await
    }

    fn acceptor(&self, name: &str, asks: bool, alpn: &str) -> TlsAcceptor {
        let provider = Arc::new(ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let builder = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_file(self.path("ca.pem")).unwrap()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let certificate = CertificateDer::from_pem_file(self.path(&format!("{name}.pem"))).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.path(&format!("{name}.key"))).unwrap();
        let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }

    fn options(&self, server_name: &str) -> TlsOptions {
        TlsOptions { ca: Some(self.path("ca.pem")), server_name: server_name.to_owned(), ..TlsOptions::default() }
    }
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new("hello".into()))
}

fn plain(framework: Framework, addr: SocketAddr, options: &TlsOptions) -> LoadSpec {
    let expect = Some(Bytes::from_static(b"hello"));
    let call = Call::plain("/".parse().unwrap(), None, expect, HeaderMap::new(), "localhost".to_owned());
    spec_of(framework, addr, call.over(Some(Tls::new(options).unwrap())))
}

fn spec(addr: SocketAddr, options: &TlsOptions) -> LoadSpec {
    let folder = tempfile::tempdir().unwrap();
    let method = Schema::from_proto(&protos(folder.path()), &[]).unwrap().method("my.Greeter/SayHello").unwrap();
    let data = r#"{"name": {"first": "you"}}"#;
    let call = Call::new(&method, data, None, HeaderMap::new(), "localhost".to_owned()).unwrap();
    spec_of(Framework::Call, addr, call.over(Some(Tls::new(options).unwrap())))
}

fn spec_of(framework: Framework, addr: SocketAddr, call: Call) -> LoadSpec {
    let payload = Payload::given(call.size() as u64).unwrap();
    let case = Case {
        pattern: PayloadPattern::Given,
        ..Case::new(Scenario { payload, concurrency: 4 }, Duration::from_secs(1))
    };
    LoadSpec { call: Some(Arc::new(call)), ..LoadSpec::new(framework, addr, case) }
}

/// The wire, and that 100 calls over it are right.
async fn measured(addr: SocketAddr, options: &TlsOptions) -> Result<Wire, LoadError> {
    measured_of(spec(addr, options)).await
}

async fn measured_of(spec: LoadSpec) -> Result<Wire, LoadError> {
    let mut driver = Driver::connect(spec).await?;
    let wire = driver.preflight().await?;
    let sample = run(&mut driver, &requests(100)).await;
    assert_eq!((sample.ok, sample.error), (100, 0), "{:?}", sample.errors);
    Ok(wire)
}

async fn refused(addr: SocketAddr, options: &TlsOptions) -> String {
    measured(addr, options).await.expect_err("no server to trust").to_string()
}

#[tokio::test]
async fn a_server_that_is_trusted_is_measured_and_the_wire_says_how() {
    let authority = Authority::new("ours");
    authority.sign("localhost", false);
    let addr = authority.serve("localhost", false, "h2").await;
    let wire = measured(addr, &authority.options("localhost")).await.unwrap();
    assert!(wire.tls.as_deref().is_some_and(|tls| tls.starts_with("TLSv1_3, TLS13_")), "{:?}", wire.tls);
    // What is counted is what is on the wire: a record has a header and a tag of 22 bytes or more.
    assert!(wire.request_bytes > 22 && wire.server_settings.is_some(), "{wire:?}");
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_not_measured_unless_told() {
    let (authority, other) = (Authority::new("ours"), Authority::new("other"));
    authority.sign("localhost", false);
    authority.sign("expired.test", true);
    let addr = authority.serve("localhost", false, "h2").await;
    let wrong = refused(addr, &other.options("localhost")).await;
    assert!(wrong.contains("TLS: invalid peer certificate: UnknownIssuer"), "{wrong}");
    let wrong = refused(addr, &authority.options("other.test")).await;
    assert!(wrong.contains("not valid for") && wrong.contains("localhost"), "{wrong}");
    let expired = authority.serve("expired.test", false, "h2").await;
    let wrong = refused(expired, &authority.options("expired.test")).await;
    assert!(wrong.contains("certificate expired"), "{wrong}");
    let anybody = TlsOptions { server_name: "other.test".to_owned(), insecure: true, ..TlsOptions::default() };
    for addr in [addr, expired] {
        assert!(measured(addr, &anybody).await.is_ok());
    }
}

#[tokio::test]
async fn plain_http_is_spoken_over_tls_in_either_version() {
    let authority = Authority::new("ours");
    authority.sign("localhost", false);
    for (framework, version) in [(Framework::Http1, "HTTP/1.1"), (Framework::H2, "HTTP/2")] {
        let addr = authority.serve_plain(framework).await;
        let options = TlsOptions { http1: framework == Framework::Http1, ..authority.options("localhost") };
        let wire = measured_of(plain(framework, addr, &options)).await.unwrap();
        assert!(wire.tls.as_deref().is_some_and(|tls| tls.starts_with("TLSv1_3, ")), "{:?}", wire.tls);
        assert_eq!((wire.http_version.as_str(), wire.server_settings.is_some()), (version, version == "HTTP/2"));
        let error =
            measured_of(plain(framework, addr, &authority.options("other.test"))).await.unwrap_err().to_string();
        assert!(error.contains("TLS: "), "{error}");
    }
}

#[tokio::test]
async fn a_server_may_ask_who_calls() {
    let authority = Authority::new("ours");
    authority.sign("localhost", false);
    authority.sign("caller", false);
    let addr = authority.serve("localhost", true, "h2").await;
    let nobody = authority.options("localhost");
    let identity = Some((authority.path("caller.pem"), authority.path("caller.key")));
    assert!(measured(addr, &TlsOptions { identity, ..nobody.clone() }).await.is_ok());
    // With TLS 1.3 the server says no after the handshake.
    refused(addr, &nobody).await;
}

#[tokio::test]
async fn a_server_without_http2_or_without_tls_is_told_apart() {
    let authority = Authority::new("ours");
    authority.sign("localhost", false);
    let http1 = authority.serve("localhost", false, "http/1.1").await;
    refused(http1, &authority.options("localhost")).await;
    let plain = load_support::greeter::greeter(None).await;
    let wrong = refused(plain, &authority.options("localhost")).await;
    assert!(wrong.contains("TLS: what answers is no TLS: "), "{wrong}");
    let tls = Tls::new(&authority.options("localhost")).unwrap();
    let limit = Duration::from_secs(60);
    let asked = reflect(&plain.into(), "localhost", &HeaderMap::new(), "my.Greeter/SayHello", Some(&tls), limit).await;
    assert!(matches!(asked, Err(ReflectionError::Tls { .. })));
}

#[test]
fn files_that_are_not_what_they_should_be_are_named() {
    let authority = Authority::new("ours");
    let gone = authority.path("gone.pem");
    let wrong = |options: TlsOptions| Tls::new(&options).expect_err("no TLS").to_string();
    let options = authority.options("localhost");
    let error = wrong(TlsOptions { ca: Some(gone.clone()), ..options.clone() });
    assert!(error.starts_with(&format!("{}: no certificates: ", gone.display())), "{error}");
    let empty = authority.path("empty.pem");
    fs::write(&empty, "").unwrap();
    let error = wrong(TlsOptions { ca: Some(empty.clone()), ..options.clone() });
    assert!(error.ends_with("no certificate in it: must be PEM"), "{error}");
    authority.sign("caller", false);
    let identity = Some((authority.path("caller.pem"), empty));
    let error = wrong(TlsOptions { identity, ..options.clone() });
    assert!(error.contains("empty.pem: no private key: "), "{error}");
    let error = wrong(TlsOptions { server_name: "a b".to_owned(), ..options });
    assert_eq!(error, "server name \"a b\": must be a DNS name or an IP address");
}
