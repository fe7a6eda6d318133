//! Who the two ends are: a certificate and what each accepts of the other, by TLS 1.3 for real.

use crate::chance::{Drawn, X25519};
use crate::clock::Date;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, Error, KeyLog, SignatureScheme};
use std::sync::Arc;
use vazao_wire::tls::{LEAST_CERTIFICATE, certificate};

/// A self-signed certificate for the name `server` with an Ed25519 key, whose signatures always have the same length. The
/// key is no secret: whoever has this source has it.
const CERTIFICATE: &[u8] = include_bytes!("server.crt.der");
const KEY: &[u8] = include_bytes!("server.key.der");

/// The name in the certificate.
pub const NAME: &str = "server";

/// What TLS adds to a certificate in its Certificate message (RFC 8446 section 4.4.2): length and no extensions; and the
/// message's own type, length, context and list length.
const ENTRY: usize = 5;
const MESSAGE: usize = 8;

fn provider() -> CryptoProvider {
    CryptoProvider { kx_groups: vec![&X25519], secure_random: &Drawn, ..rustls::crypto::ring::default_provider() }
}

/// Our certificate, and after it one that makes the Certificate message `size` bytes long if there is room for it. That one
/// is nobody's: a chain's later members are only looked at by who does not know the first.
fn chain(size: u64) -> Vec<CertificateDer<'static>> {
    let own = MESSAGE + ENTRY + CERTIFICATE.len();
    let mut chain = vec![CertificateDer::from(CERTIFICATE)];
    if let Some(rest @ LEAST_CERTIFICATE..) = (size as usize).checked_sub(own + ENTRY) {
        chain.push(CertificateDer::from(certificate(rest)));
    }
    chain
}

/// The server's side of TLS, whose Certificate message has `certificate` bytes; its secrets go to `log`.
pub fn server(certificate: u64, log: Arc<dyn KeyLog>) -> Result<rustls::ServerConfig, Error> {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY));
    let mut config = rustls::ServerConfig::builder_with_details(Arc::new(provider()), Arc::new(Date))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain(certificate), key)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Early data, as QUIC wants it said (RFC 9001 section 4.6.1).
    config.max_early_data_size = u32::MAX;
    config.key_log = log;
    Ok(config)
}

/// The client's side of TLS; its secrets go to `log`.
pub fn client(log: Arc<dyn KeyLog>) -> Result<rustls::ClientConfig, Error> {
    let provider = provider();
    let verifier = Arc::new(Acquaintance(provider.signature_verification_algorithms));
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

/// The application protocol that the two agree on: bytes on streams, as interoperability tests call it.
const PROTOCOL: &[u8] = b"hq-interop";

/// Knows the server's certificate, and checks that it has the key to it.
#[derive(Debug)]
struct Acquaintance(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Acquaintance {
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
