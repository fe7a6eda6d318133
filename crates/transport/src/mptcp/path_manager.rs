//! Path managers: they decide which subflows a connection has.
//!
//! A path manager is a function from the known pairs of client and server addresses to the pairs on which it wants
//! subflows. The connection opens those that are missing.

use vazao_engine::registry::{Entry, Kind, Parameters, parameters};

/// Pair of addresses between which packets can travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    /// Number of the client's address.
    pub client: u8,
    /// Number of the server's address.
    pub server: u8,
    /// Relay to pass through, counted from 1; 0: none.
    pub relay: u8,
}

/// Which subflows a connection has, and what both sides do for them.
#[derive(Clone, Copy, Debug)]
pub struct Manager {
    /// Returns the indices in `known` of the address pairs that need subflows; a pair listed twice gets two.
    pub subflows: fn(known: &[AddressPair], parameters: &Parameters) -> Vec<usize>,
    /// Whether the server advertises its other addresses.
    pub announces: bool,
    /// Whether the subflows go through relays, so that it needs some.
    pub is_relayed: bool,
    /// The mesh that Linux's own path manager makes in its place, if it can.
    pub mesh: Option<Mesh>,
}

/// Subflows that Linux's path manager opens (`ip mptcp endpoint`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mesh {
    /// One from each of the client's addresses.
    Single,
    /// One between each of the client's addresses and each of the server's (`fullmesh`).
    Full,
}

/// Subflows between the first pair of addresses, of which no other side hears.
const QUIET: Manager = Manager { subflows: |_, _| vec![0], announces: false, is_relayed: false, mesh: None };

parameters! {
    struct Ports { subflows: usize = Kind::Integer(1, 32), "2", "subflows between the first pair of addresses"; }

    struct FullMesh {
        subflows: usize = Kind::Integer(1, 8), "1", "subflows between each pair of addresses";
        limit: usize = Kind::Integer(1, 64), "64",
            "subflows at most, those to the server's first addresses first; the Linux kernel has 9 at most";
    }
}

/// All path managers.
pub const PATH_MANAGERS: &[Entry<Manager>] = &[
    Entry {
        name: "default",
        aliases: &[],
        title: "Default (passive)",
        source: "Linux MPTCP v0.90, mptcp_default",
        help: "no subflow but the first; the server announces nothing",
        parameters: &[],
        build: QUIET,
    },
    Entry {
        name: "ndiffports",
        aliases: &[],
        title: "n different ports",
        source: "Raiciu et al., SIGCOMM 2011; Linux MPTCP v0.90, mptcp_ndiffports",
        help: "so many subflows between the first pair of addresses",
        parameters: Ports::PARAMETERS,
        build: Manager { subflows: |_, parameters| vec![0; Ports::from(parameters).subflows], ..QUIET },
    },
    Entry {
        name: "binder",
        aliases: &[],
        title: "Binder",
        source: "Boccassi, Fayed, Marina, LCDNet 2013",
        help: "a subflow through each relay (transport.relays) between the first pair of addresses",
        parameters: &[],
        build: Manager {
            subflows: |known, _| all(known, |pair| pair.client == known[0].client && pair.server == known[0].server),
            is_relayed: true,
            ..QUIET
        },
    },
    Entry {
        name: "full-mesh",
        aliases: &["fullmesh"],
        title: "Full mesh",
        source: "RFC 8684; Linux MPTCP v0.90, mptcp_fullmesh",
        help: "subflows between each of the client's addresses and each of the server's",
        parameters: FullMesh::PARAMETERS,
        build: Manager { subflows: full_mesh, announces: true, mesh: Some(Mesh::Full), ..QUIET },
    },
    Entry {
        name: "single-mesh",
        aliases: &[],
        title: "Single mesh",
        source: "Lima, UNIFEI 2017, algorithm 7",
        help: "one subflow from each of the client's addresses, to the first of the server's that it can reach",
        parameters: &[],
        build: Manager { subflows: single_mesh, announces: true, mesh: Some(Mesh::Single), ..QUIET },
    },
];

fn all(known: &[AddressPair], wanted: impl Fn(&AddressPair) -> bool) -> Vec<usize> {
    (0..known.len()).filter(|&index| wanted(&known[index])).collect()
}

/// Sorts by server address, as they are advertised.
fn full_mesh(known: &[AddressPair], parameters: &Parameters) -> Vec<usize> {
    let mut each = all(known, |pair| pair.relay == 0);
    each.sort_by_key(|&index| (known[index].server != known[0].server, known[index].server));
    let FullMesh { subflows, limit } = parameters.into();
    each.iter().copied().cycle().take((each.len() * subflows).min(limit)).collect()
}

/// Uses each client address once, with the first known server address that can be reached from it.
fn single_mesh(known: &[AddressPair], _: &Parameters) -> Vec<usize> {
    let is_first =
        |index: usize| known[..index].iter().all(|pair| pair.client != known[index].client || pair.relay != 0);
    all(known, |pair| pair.relay == 0).into_iter().filter(|&index| is_first(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vazao_engine::registry::{Value, find};

    /// All pairs of two client and three server addresses, the first pair first.
    fn mesh() -> Vec<AddressPair> {
        (0..2).flat_map(|client| (0..3).map(move |server| AddressPair { client, server, relay: 0 })).collect()
    }

    fn wanted(name: &str, known: &[AddressPair]) -> Vec<usize> {
        let entry = find("path manager", PATH_MANAGERS, name).unwrap();
        (entry.build.subflows)(known, &Parameters::defaults(entry.parameters))
    }

    #[test]
    fn each_manager_follows_its_definition() {
        let known = mesh();
        assert_eq!(wanted("default", &known), [0]);
        assert_eq!(wanted("ndiffports", &known), [0, 0]);
        assert_eq!(wanted("full-mesh", &known), [0, 3, 1, 4, 2, 5]);
        assert_eq!(wanted("single-mesh", &known), [0, 3]);
    }

    /// Linux's path manager, which has eight subflows besides the first, opens one from each of its own addresses for
    /// each address advertised (fill_local_addresses_vec) until the limit is reached.
    #[test]
    fn a_limited_mesh_takes_server_by_server() {
        let known: Vec<AddressPair> =
            (0..5).flat_map(|client| (0..5).map(move |server| AddressPair { client, server, relay: 0 })).collect();
        let entry = find("path manager", PATH_MANAGERS, "full-mesh").unwrap();
        let mut parameters = Parameters::defaults(entry.parameters);
        parameters.set("limit", Value::Number(9.0));
        let ends: Vec<_> =
            (entry.build.subflows)(&known, &parameters).iter().map(|&i| (known[i].server, known[i].client)).collect();
        assert_eq!(ends, [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2), (1, 3)]);
    }

    #[test]
    fn a_binder_goes_through_each_relay() {
        let relayed = |relay| AddressPair { client: 0, server: 0, relay };
        let known = [relayed(0), relayed(1), relayed(2), AddressPair { client: 1, server: 0, relay: 0 }];
        assert_eq!(wanted("binder", &known), [0, 1, 2]);
        assert_eq!(wanted("full-mesh", &known), [0, 3]);
    }
}
