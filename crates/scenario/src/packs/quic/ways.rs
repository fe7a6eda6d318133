//! Ways of connections whose clients leave by several interfaces.

use crate::model::routes::Routes;
use crate::model::scenario::FlowSpec;
use crate::model::ways::{MOST_PATHS, last, ways_between};
use vazao_network::Routing;

/// Returns the ways of a QUIC connection, the flow's own first: from each interface of the client to the known address
/// of the server, or to the first reachable one.
pub(super) fn client_ways(routing: &Routing<'_>, flow: &FlowSpec) -> Vec<Routes> {
    let mut ways = vec![flow.routes.clone()];
    if !(flow.transport.pack().leaves_by_several)(&flow.transport.parameters) {
        return ways;
    }
    let known = last(&flow.routes.out);
    let mut others = ways_between(routing, flow);
    others.sort_by_key(|way| last(&way.out) != known);
    for way in others {
        let leaves = way.out[0].0;
        let is_new = ways.iter().all(|known| known.out[0].0 != leaves);
        if last(&way.back) == leaves && is_new && ways.len() < MOST_PATHS {
            ways.push(way);
        }
    }
    ways.sort_by_key(|way| way.out[0].0 != flow.routes.out[0].0);
    ways
}
