//! Connections over several paths: each subflow is a flow of one of several bottlenecks.

use super::packets::Network;
use vazao_congestion::Sibling;

/// Bottlenecks, and the connections that have more than one subflow: (bottleneck, flow there) of each.
pub struct Multipath {
    pub networks: Vec<Network>,
    pub connections: Vec<Vec<(usize, usize)>>,
}

impl Multipath {
    /// Before anything happens to a subflow it is shown its siblings, those whose round-trip time is known.
    fn couple(&mut self, subflow: (usize, usize)) {
        let Some(paths) = self.connections.iter().find(|paths| paths.contains(&subflow)) else { return };
        let mut seen = vec![];
        let mut own = 0;
        for &(network, flow) in paths {
            let sender = &mut self.networks[network].senders[flow];
            if (network, flow) == subflow {
                own = seen.len();
            } else if sender.srtt.as_secs() == 0.0 {
                continue;
            }
            let (cwnd, ssthresh) = (sender.control.cwnd() as f64, sender.control.ssthresh() as f64);
            let told = sender.control.siblings().map_or(0.0, |siblings| siblings.told());
            seen.push(Sibling::new(cwnd, ssthresh, sender.srtt, told));
        }
        if let Some(siblings) = self.networks[subflow.0].senders[subflow.1].control.siblings() {
            siblings.see(&seen, own);
        }
    }

    pub fn until(&mut self, seconds: f64) {
        loop {
            let next = self.networks.iter().map(Network::next).enumerate();
            let (network, (at, flow)) = next.min_by(|a, b| a.1.0.total_cmp(&b.1.0)).expect("there are bottlenecks");
            if at >= seconds {
                return;
            }
            self.couple((network, flow));
            self.networks[network].step();
        }
    }

    /// Packets a second of each flow of each bottleneck between two times; the means of the queues are those of that time.
    pub fn rates(&mut self, from: f64, to: f64) -> Vec<Vec<f64>> {
        self.until(from);
        let acked = |networks: &[Network]| -> Vec<Vec<u64>> {
            networks.iter().map(|network| network.senders.iter().map(|sender| sender.acked).collect()).collect()
        };
        let before = acked(&self.networks);
        self.networks.iter_mut().for_each(|network| (network.packets, network.waited) = (0, 0.0));
        self.until(to);
        let flows = |(now, before): (Vec<u64>, Vec<u64>)| {
            now.iter().zip(before).map(|(now, before)| (now - before) as f64 / (to - from)).collect()
        };
        acked(&self.networks).into_iter().zip(before).map(flows).collect()
    }
}
