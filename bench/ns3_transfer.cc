// One row of tests/python/reference/ns3_others.csv (and of ns3_tcp.csv, whose rows without loss it reproduces): a bulk
// transfer over one link, or two over a dumbbell, in ns-3. Prints when the last packet of the data direction arrived by
// FlowMonitor, and how many packets of it were sent and lost.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <iostream>

using namespace ns3;

static const uint16_t PORT = 5001;

struct Link
{
    std::string rate;
    std::string delay;
    /// Packets in a drop-tail queue that is the only one; none: the queue disc that ns-3 installs, over its device queue.
    uint32_t queue;
    double loss;
};

/// Joins two nodes by a link with a network number of its own; what `b` receives is lost at random.
static Ipv4InterfaceContainer
Join(Ptr<Node> a, Ptr<Node> b, const Link& link, Ipv4AddressHelper& addresses)
{
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", StringValue(link.rate));
    helper.SetChannelAttribute("Delay", StringValue(link.delay));
    if (link.queue > 0)
    {
        helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(link.queue) + "p"));
    }
    NetDeviceContainer devices = helper.Install(a, b);
    if (link.loss > 0)
    {
        Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(link.loss);
        devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    addresses.NewNetwork();
    if (link.queue > 0)
    {
        TrafficControlHelper().Uninstall(devices);
    }
    return interfaces;
}

static void
Transfer(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint64_t bytes)
{
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
    sink.Install(to).Start(Seconds(0));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, PORT));
    source.SetAttribute("MaxBytes", UintegerValue(bytes));
    source.Install(from).Start(Seconds(0));
}

static void
Configure(const std::string& variant, bool tuned)
{
    bool plus = variant == "WestwoodPlus";
    TypeId type = TypeId::LookupByName("ns3::Tcp" + (plus ? "Westwood" : variant));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(type));
    if (plus)
    {
        Config::SetDefault("ns3::TcpWestwood::ProtocolType", EnumValue(TcpWestwood::WESTWOODPLUS));
    }
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(tuned ? 1448 : 536));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    if (tuned)
    {
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    }
}

int
main(int argc, char* argv[])
{
    std::string variant = "NewReno", set = "default", topology = "simple";
    Link link{"10Mbps", "50ms", 0, 0};
    uint64_t bytes = 1000000, run = 1;
    CommandLine arguments;
    arguments.AddValue("variant", "congestion control: the type's name without ns3::Tcp", variant);
    arguments.AddValue("set", "default or tuned", set);
    arguments.AddValue("topology", "simple or dumbbell", topology);
    arguments.AddValue("rate", "of the bottleneck", link.rate);
    arguments.AddValue("delay", "one way", link.delay);
    arguments.AddValue("queue", "packets in its drop-tail queue (set tuned)", link.queue);
    arguments.AddValue("loss", "part of the packets lost", link.loss);
    arguments.AddValue("bytes", "to transfer", bytes);
    arguments.AddValue("run", "of the random streams", run);
    arguments.Parse(argc, argv);
    RngSeedManager::SetRun(run);
    Configure(variant, set == "tuned");

    InternetStackHelper stack;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    NodeContainer middle(2);
    stack.Install(middle);
    Ipv4InterfaceContainer ends = Join(middle.Get(0), middle.Get(1), link, addresses);
    if (topology == "simple")
    {
        Transfer(middle.Get(0), middle.Get(1), ends.GetAddress(1), bytes);
    }
    else
    {
        NodeContainer left(2), right(2);
        stack.Install(left);
        stack.Install(right);
        Link access{"1Gbps", "10ms", link.queue, 0};
        for (uint32_t i = 0; i < 2; ++i)
        {
            Join(left.Get(i), middle.Get(0), access, addresses);
            ends = Join(middle.Get(1), right.Get(i), access, addresses);
            Transfer(left.Get(i), right.Get(i), ends.GetAddress(1), bytes);
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    FlowMonitorHelper helper;
    Ptr<FlowMonitor> monitor = helper.InstallAll();
    Simulator::Stop(Seconds(1000));
    Simulator::Run();
    monitor->CheckForLostPackets();
    auto classifier = DynamicCast<Ipv4FlowClassifier>(helper.GetClassifier());
    Time last;
    uint64_t sent = 0, lost = 0;
    for (const auto& [id, flow] : monitor->GetFlowStats())
    {
        if (classifier->FindFlow(id).destinationPort == PORT)
        {
            last = std::max(last, flow.timeLastRxPacket);
            sent += flow.txPackets;
            lost += flow.lostPackets;
        }
    }
    std::cout << last.GetSeconds() << " " << sent << " " << lost << std::endl;
    Simulator::Destroy();
    return 0;
}
