// The speed scenario in htsim: TCPs without end (NewReno, no SACK, an acknowledgement for each packet) over a dumbbell.
// Access links 10 Gbit/s and 100 us, one set for each flow; bottleneck 4.8 ms with a queue of one BDP; packets of 1500
// bytes. Several flows start one after the other within 100 ms.
//
// usage: htsim FLOWS SECONDS GBPS
// Prints the packet-hops and the CPU seconds of its event loop.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

namespace {

constexpr mem_b ENDLESS = mem_b(1) << 40;
constexpr double ACCESS_GBPS = 10;

struct Link {
    Queue *queue;
    Pipe *pipe;
    Link(EventList &events, double gbps, mem_b limit, double delay_us)
        : queue(new Queue(speedFromGbps(gbps), limit, events, nullptr)), pipe(new Pipe(timeFromUs(delay_us), events)) {}
};

Route *route(std::initializer_list<Link> links, PacketSink *end) {
    auto *route = new Route();
    for (const Link &link : links) {
        route->push_back(link.queue);
        route->push_back(link.pipe);
    }
    route->push_back(end);
    return route;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s FLOWS SECONDS GBPS\n", argv[0]);
        return 2;
    }
    const int flows = std::atoi(argv[1]);
    const double seconds = std::atof(argv[2]), gbps = std::atof(argv[3]);
    EventList events;
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(1500);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    const Link forward(events, gbps, mem_b(gbps * 1e9 * 0.010 / 8), 4800), back(events, gbps, ENDLESS, 4800);
    auto access = [&] { return Link(events, ACCESS_GBPS, ENDLESS, 100); };
    std::vector<TcpSrc *> sources;
    std::vector<TcpSink *> sinks;
    // Sources report each of their steps on standard output.
    std::stringstream silenced;
    auto *shown = std::cout.rdbuf(silenced.rdbuf());
    for (int i = 0; i < flows; i++) {
        auto *source = new TcpSrc(nullptr, nullptr, events);
        auto *sink = new TcpSink();
        source->setName("source");
        sink->setName("sink");
        timers.registerTcp(*source);
        Route *out = route({access(), forward, access()}, sink);
        Route *in = route({access(), back, access()}, source);
        source->connect(*out, *in, *sink, timeFromMs(flows > 1 ? 100.0 * i / flows : 0));
        sources.push_back(source);
        sinks.push_back(sink);
    }
    const std::clock_t start = std::clock();
    while (events.doNextEvent()) {
    }
    const double cpu_s = double(std::clock() - start) / CLOCKS_PER_SEC;
    std::cout.rdbuf(shown);
    // What was dropped at the bottleneck had crossed one link; what arrived crossed three, and so did its acknowledgement.
    double hops = 0;
    for (int i = 0; i < flows; i++) {
        hops += double(sources[i]->_packets_sent) / 1500 + 5 * double(sinks[i]->_packets) / 1500;
    }
    std::printf("%.0f %.6f\n", hops, cpu_s);
}
