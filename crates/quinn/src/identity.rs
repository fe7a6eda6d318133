//! TLS 1.3 between the two ends: the server's certificate, and what the client accepts.

use crate::chance::{Seeded, X25519};
use crate::clock::Date;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, Error, KeyLog, SignatureScheme};
use std::sync::Arc;
use vazao_wire::tls::{LEAST_CERTIFICATE, certificate};

/// A self-signed certificate for the name `server` with an Ed25519 key, whose signatures always have the same length. The
/// key is public, as this source is.
const CERTIFICATE: &[u8] = include_bytes!("server.crt.der");
const KEY: &[u8] = include_bytes!("server.key.der");

/// The name in the certificate.
pub const NAME: &str = "server";

/// Bytes that a Certificate message adds to each certificate (RFC 8446 section 4.4.2): its length and an empty list of
/// extensions; and its own bytes: type, length, context and length of the list.
const ENTRY: usize = 5;
const MESSAGE: usize = 8;

fn provider() -> CryptoProvider {
    CryptoProvider { kx_groups: vec![&X25519], secure_random: &Seeded, ..rustls::crypto::ring::default_provider() }
}

/// Returns our certificate, and after it one that makes the Certificate message `size` bytes long, if there is room for it.
/// The client does not look at the second, as it knows the first.
fn chain(size: u64) -> Vec<CertificateDer<'static>> {
    let own = MESSAGE + ENTRY + CERTIFICATE.len();
    let mut chain = vec![CertificateDer::from(CERTIFICATE)];
    if let Some(rest @ LEAST_CERTIFICATE..) = (size as usize).checked_sub(own + ENTRY) {
        chain.push(CertificateDer::from(certificate(rest)));
    }
    chain
}

/// Returns the server's settings of TLS. Its Certificate message has `certificate` bytes; its secrets go to `log`.
pub fn server(certificate: u64, log: Arc<dyn KeyLog>) -> Result<rustls::ServerConfig, Error> {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY));
    let mut config = rustls::ServerConfig::builder_with_details(Arc::new(provider()), Arc::new(Date))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain(certificate), key)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // The only value that allows early data over QUIC (RFC 9001 section 4.6.1).
    config.max_early_data_size = u32::MAX;
    config.key_log = log;
    Ok(config)
}

/// Returns the client's settings of TLS; its secrets go to `log`.
pub fn client(log: Arc<dyn KeyLog>) -> Result<rustls::ClientConfig, Error> {
    let provider = provider();
    let verifier = Arc::new(OnlyServer(provider.signature_verification_algorithms));
    let mut config = rustls::ClientConfig::builder_with_details(Arc::new(provider), Arc::new(Date))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.enable_early_data = true;
    config.key_log = log;
    Ok(config)
}

/// The application protocol of both ends: bytes on streams, by the name that interoperability tests use.
const PROTOCOL: &[u8] = b"hq-interop";

/// Accepts the server's certificate and no other, from who has its key.
#[derive(Debug)]
struct OnlyServer(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for OnlyServer {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end.as_ref() == CERTIFICATE {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General("not the server's certificate".into()))
        }
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".into()))
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
