//! Flows that are programs of the machine: what they print, and how they fail.

use super::Guests;

impl Guests {
    /// What the programs of a flow's client and server printed, if it is one of programs.
    pub fn printed(&self, flow: usize) -> Option<[String; 2]> {
        let flow = self.flows.get(&flow).filter(|flow| flow.is_program())?;
        Some(flow.nodes.map(|node| self.printed_at(node)))
    }

    fn printed_at(&self, node: usize) -> String {
        self.host_at(node).map(|host| self.hosts[host].machine.printed()).unwrap_or_default()
    }

    /// Keeps why a side of a flow failed, unless one has before: of a program which, and what it said last.
    pub fn note_failure(&mut self, flow: usize, side: usize, why: &str) {
        let name = ["client", "server"][side];
        let known = &self.flows[&flow];
        let reason = match &known.programs {
            None => format!("{name}: {why}"),
            Some(programs) => {
                let said = self.printed_at(known.nodes[side]);
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
                format!("{name}: {} ended with {why}; it said last: {}", brief(&programs[side]), brief(last))
            }
        };
        let flow = self.flows.get_mut(&flow).expect("a guest's flow");
        flow.ledger.failure.get_or_insert(reason);
    }
}

/// The beginning of a text, in one line.
fn brief(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.trim().chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}
