//! HTTP/3: a stream for each request and its response (RFC 9114, section 4.1).

use super::{Exchange, Visit};
use vazao_engine::Time;
use vazao_transport::Streams;

impl Visit {
    /// Runs the client on a connection at `now`. Returns the time at which it wants to be driven again.
    pub fn drive_client_streams(&mut self, now: Time, number: usize, streams: &mut (impl Streams + ?Sized)) -> Time {
        while let Some(id) = streams.next_readable() {
            while let Some(range) = streams.read_stream(id) {
                let Some(&exchange) = self.connections[number].streams.get(&id) else {
                    self.disordered = true;
                    continue;
                };
                self.first.get_or_insert(now);
                self.last = Some(now);
                let Exchange { read, wire, left, .. } = &mut self.exchanges[exchange];
                self.disordered |= range.start != *read || *left > 0;
                *read = range.end;
                if read == wire {
                    self.finish(now, number);
                }
            }
        }
        self.connections[number].stands = streams.is_connected();
        if self.connections[number].stands && !self.closing {
            self.ask_by_stream(now, number, streams);
        }
        self.go_on(now, number, streams)
    }

    /// Asks for all there is, as far as the server allows streams.
    fn ask_by_stream(&mut self, now: Time, number: usize, streams: &mut (impl Streams + ?Sized)) {
        while self.user.wishes(now) > 0 {
            let Some(id) = streams.open_stream() else { return };
            let Some(body) = self.user.wish(now) else { return };
            streams.write_stream(id, self.http.request_bytes(false));
            streams.finish_stream(id);
            let connection = &mut self.connections[number];
            connection.waiting += 1;
            connection.streams.insert(id, self.exchanges.len());
            let wire = self.http.response_bytes(body, false);
            self.exchanges.push(Exchange { body, head: 0, left: wire, wire, read: 0 });
        }
    }

    /// Runs the server, which answers each request whole; the connection decides the order of several.
    pub fn drive_server_streams(&mut self, number: usize, streams: &mut (impl Streams + ?Sized)) {
        let request = self.http.request_bytes(false);
        while let Some(id) = streams.next_readable() {
            while let Some(range) = streams.read_stream(id) {
                let exchange = self.connections[number].streams.get(&id).map(|&place| &mut self.exchanges[place]);
                let Some(exchange) = exchange.filter(|exchange| exchange.left > 0 && range.end <= request) else {
                    self.disordered = true;
                    continue;
                };
                if range.end == request {
                    streams.share_stream(id, self.http.turn);
                    streams.write_stream(id, std::mem::take(&mut exchange.left));
                    streams.finish_stream(id);
                }
            }
        }
        if streams.peer_closed() {
            streams.close();
        }
    }
}
