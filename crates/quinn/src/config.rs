//! Our QUIC parameters in the library's terms.

use crate::clock::{Date, span};
use crate::control::{Ours, Watching};
use crate::records::Records;
use crate::watch::Watch;
use crate::{chance, identity};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, NoneTokenStore, ServerConfig,
    TokenLog, TokenMemoryCache, TokenReuseError, TransportConfig, ValidationTokenConfig, VarInt,
};
use ring::{hkdf, hmac};
use rustls::KeyLog;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use vazao_engine::registry::Value;
use vazao_transport::library::Plan;

/// A result whose error says what the library cannot do.
type Result<T> = std::result::Result<T, String>;

fn varint(value: u64) -> Result<VarInt> {
    VarInt::from_u64(value).map_err(|_| format!("{value} is more than QUIC can say"))
}

/// Returns the settings of a connection. Its control's events are recorded in `watch`; if the plan asks for a log, that goes to
/// `records`.
pub fn transport(plan: &Plan, watch: &Arc<Mutex<Watch>>, records: &Records) -> Result<Arc<TransportConfig>> {
    let given = &plan.parameters;
    let size = |name| given.size(name).expect("a size with a default");
    let duration = |name| given.duration(name).expect("a duration with a default");
    let idle = IdleTimeout::try_from(span(duration("idle_timeout"))).map_err(|error| error.to_string())?;
    let datagram = given.integer("datagram") as u16;
    // After lost bursts the library takes the path's MTU for 1200 bytes; discovery tries again after a minute.
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(datagram);
    let watching = Watching { inner: control(plan)?, watch: watch.clone() };
    let mut config = TransportConfig::default();
    config
        .initial_mtu(datagram)
        .mtu_discovery_config(Some(discovery))
        .enable_segmentation_offload(false)
        .initial_rtt(span(duration("initial_rtt")))
        .packet_threshold(given.integer("packet_threshold") as u32)
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(given.duration("keep_alive").map(span))
        .stream_receive_window(varint(size("stream_window"))?)
        .receive_window(varint(size("connection_window"))?)
        .congestion_controller_factory(Arc::new(watching));
    if plan.logs {
        config.qlog_stream(records.stream());
    }
    if let Some(Value::Number(threshold)) = given.get("time_threshold") {
        config.time_threshold(*threshold as f32);
    }
    if let Some(bytes) = given.size("send_buffer") {
        config.send_window(bytes);
    }
    Ok(Arc::new(config))
}

fn control(plan: &Plan) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    if let Some(make) = &plan.make {
        return Ok(Arc::new(Ours { make: make.clone(), seed: plan.seed }));
    }
    let window = plan.parameters.integer("initial_window") * plan.parameters.integer("datagram");
    Ok(match plan.control.as_str() {
        "newreno" => {
            let mut config = NewRenoConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
        "bbr" => {
            let mut config = BbrConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
        "cubic" => {
            let mut config = CubicConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
        other => return Err(format!("quinn has no congestion control {other:?}")),
    })
}

/// Returns the settings of an endpoint. Draws random numbers, so call it within [`chance::with`].
pub fn endpoint(datagram: u16) -> Result<Arc<EndpointConfig>> {
    let reset = hmac::Key::new(hmac::HMAC_SHA256, &chance::bytes::<64>());
    let mut config = EndpointConfig::new(Arc::new(reset));
    config.cid_generator(|| Box::new(chance::Identifiers)).rng_seed(Some(chance::bytes()));
    config.max_udp_payload_size(datagram.max(1472)).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

/// Number of tokens for later connections that a server sends: the library's default.
const TOKENS: u32 = 2;

/// A server's log of used tokens. It remembers none, as each comes back only once.
struct Forgetful;

impl TokenLog for Forgetful {
    fn check_and_insert(&self, _: u128, _: SystemTime, _: Duration) -> std::result::Result<(), TokenReuseError> {
        Ok(())
    }
}

/// Returns the settings of a client. If the two `resumes`, it keeps the tokens that prove its address later.
pub fn client(transport: Arc<TransportConfig>, log: Arc<dyn KeyLog>, resumes: bool) -> Result<ClientConfig> {
    let tls = identity::client(log).map_err(|error| error.to_string())?;
    let tls = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
    let mut config = ClientConfig::new(Arc::new(tls));
    if resumes {
        config.token_store(Arc::new(TokenMemoryCache::default()));
    } else {
        config.token_store(Arc::new(NoneTokenStore));
    }
    config.transport_config(transport).initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&chance::bytes::<20>())));
    Ok(config)
}

/// Returns the settings of a server. If the two `resumes`, it sends tokens. Draws random numbers, so call it within
/// [`chance::with`].
pub fn server(
    transport: Arc<TransportConfig>,
    certificate: u64,
    log: Arc<dyn KeyLog>,
    resumes: bool,
) -> Result<Arc<ServerConfig>> {
    let tls = identity::server(certificate, log).map_err(|error| error.to_string())?;
    let tls = QuicServerConfig::try_from(tls).map_err(|error| error.to_string())?;
    let tokens = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&chance::bytes::<64>());
    let mut config = ServerConfig::new(Arc::new(tls), Arc::new(tokens));
    config.transport_config(transport).time_source(Arc::new(Date));
    if resumes {
        let mut later = ValidationTokenConfig::default();
        later.sent(TOKENS).log(Arc::new(Forgetful));
        config.validation_token_config(later);
    }
    Ok(Arc::new(config))
}
