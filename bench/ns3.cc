// The benchmark's scenario in ns-3: bulk transfers, each over access links of its own and one bottleneck.
// Prints the number of packet-hops (receptions at the end of a link) and the CPU seconds of the event loop.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <iostream>

using namespace ns3;

static uint64_t g_hops = 0;

static void
CountHop(Ptr<const Packet>)
{
    ++g_hops;
}

/// Joins two nodes by a link with a drop-tail queue and a network number of its own.
static Ipv4InterfaceContainer
Join(Ptr<Node> a, Ptr<Node> b, const char* rate, const char* delay, const char* queue, Ipv4AddressHelper& addresses)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
    NetDeviceContainer devices = link.Install(a, b);
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    addresses.NewNetwork();
    // The drop-tail queue of the device is to be the only one.
    TrafficControlHelper().Uninstall(devices);
    for (auto device = devices.Begin(); device != devices.End(); ++device)
    {
        (*device)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&CountHop));
    }
    return interfaces;
}

int
main(int argc, char* argv[])
{
    uint32_t flows = 1;
    double seconds = 1;
    CommandLine arguments;
    arguments.AddValue("flows", "number of flows", flows);
    arguments.AddValue("seconds", "simulated seconds", seconds);
    arguments.Parse(argc, argv);

    // As the modern defaults here: CUBIC, SACK, timestamps, 1448-byte segments, one ACK for two, buffers that do not limit.
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));

    NodeContainer routers(2), left(flows), right(flows);
    InternetStackHelper stack;
    stack.Install(routers);
    stack.Install(left);
    stack.Install(right);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    // One bandwidth-delay product: 1 Gbit/s times 10 ms in packets of 1500 bytes.
    Join(routers.Get(0), routers.Get(1), "1Gbps", "4800us", "833p", addresses);
    for (uint32_t i = 0; i < flows; ++i)
    {
        Join(left.Get(i), routers.Get(0), "10Gbps", "100us", "1000p", addresses);
        auto ends = Join(routers.Get(1), right.Get(i), "10Gbps", "100us", "1000p", addresses);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
        sink.Install(right.Get(i)).Start(Seconds(0));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(ends.GetAddress(1), 5001));
        source.SetAttribute("SendSize", UintegerValue(1448));
        source.Install(left.Get(i)).Start(Seconds(0));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(seconds));
    std::clock_t started = std::clock();
    Simulator::Run();
    double cpu = double(std::clock() - started) / CLOCKS_PER_SEC;
    Simulator::Destroy();
    std::cout << g_hops << " " << cpu << std::endl;
    return 0;
}
