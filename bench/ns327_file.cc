// One file over one link in ns-3.27, with its defaults: what FlowMonitor counts of the data's direction.
// As `scratch/ns327_file.cc` of ns-3.27: ./waf --run "ns327_file --rate=1Gbps --delay=50ms"; any attribute is an option, as
// --ns3::TcpSocket::TcpNoDelay=false.

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/flow-monitor-helper.h"
#include "ns3/flow-monitor.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <iostream>

using namespace ns3;

int
main (int argc, char **argv)
{
  std::string rate = "10Mbps", delay = "50ms", type = "ns3::TcpNewReno";
  uint64_t size = 1000000;
  CommandLine arguments;
  arguments.AddValue ("rate", "of the link", rate);
  arguments.AddValue ("delay", "of the link, one way", delay);
  arguments.AddValue ("type", "of the congestion control", type);
  arguments.AddValue ("size", "of the file in bytes", size);
  arguments.Parse (argc, argv);
  Config::SetDefault ("ns3::TcpL4Protocol::SocketType", StringValue (type));

  NodeContainer nodes;
  nodes.Create (2);
  PointToPointHelper link;
  link.SetDeviceAttribute ("DataRate", StringValue (rate));
  link.SetChannelAttribute ("Delay", StringValue (delay));
  NetDeviceContainer devices = link.Install (nodes);
  InternetStackHelper ().Install (nodes);
  Ipv4AddressHelper addresses ("10.0.0.0", "255.255.255.0");
  InetSocketAddress sink (addresses.Assign (devices).GetAddress (1), 9);

  BulkSendHelper sender ("ns3::TcpSocketFactory", sink);
  sender.SetAttribute ("MaxBytes", UintegerValue (size));
  sender.Install (nodes.Get (0)).Start (Seconds (0));
  PacketSinkHelper ("ns3::TcpSocketFactory", sink).Install (nodes.Get (1)).Start (Seconds (0));

  FlowMonitorHelper monitors;
  Ptr<FlowMonitor> monitor = monitors.InstallAll ();
  Simulator::Stop (Seconds (2000));
  Simulator::Run ();
  FlowMonitor::FlowStats data = monitor->GetFlowStats ().at (1);
  double took = (data.timeLastRxPacket - data.timeFirstRxPacket).GetSeconds ();
  std::cout << took << " s, " << data.rxBytes << " B, " << 8 * data.rxBytes / took / 1e6 << " Mbit/s" << std::endl;
  return 0;
}
