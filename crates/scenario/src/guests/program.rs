//! Flows of programs of the machine: their output and their failures.

use super::Guests;

impl Guests {
    /// Returns the output of a flow's client and server, if it is one of programs.
    pub fn printed(&self, flow: usize) -> Option<[String; 2]> {
        let flow = self.flows.get(&flow).filter(|flow| flow.is_program())?;
        Some(flow.nodes.map(|node| self.printed_at(node)))
    }

    fn printed_at(&self, node: usize) -> String {
        self.host_at(node).map(|host| self.hosts[host].machine.printed()).unwrap_or_default()
    }

    /// Keeps the first failure of a flow's sides; of a program with its command and its last line.
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

/// Returns the beginning of a text, in one line.
fn brief(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.trim().chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}
