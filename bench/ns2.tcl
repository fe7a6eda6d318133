# The benchmark's scenario in ns-2: FLOWS bulk transfers for SECONDS, each over access links of its own and one bottleneck.
# Prints a line with the number of packet-hops. Usage: ns ns2.tcl FLOWS SECONDS

set flows [lindex $argv 0]
set seconds [lindex $argv 1]

# ns-2 at its quickest: packets carry only the headers that are used, nothing is traced.
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]

# 1448 bytes of data in packets of 1500 bytes, acknowledgements of 52 bytes (IP, TCP and timestamps), one for two packets.
Agent/TCP set packetSize_ 1448
Agent/TCP set tcpip_base_hdr_size_ 52
Agent/TCP set useHeaders_ true
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 10
Agent/TCP set timestamps_ true
Agent/TCP set ts_option_size_ 0
Agent/TCPSink set packetSize_ 52
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink/Sack1/DelAck set interval_ 40ms

proc join_nodes {a b rate delay queue} {
    global ns
    $ns duplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b $queue
    $ns queue-limit $b $a $queue
}

# One bandwidth-delay product: 1 Gbit/s times 10 ms in packets of 1500 bytes.
set r1 [$ns node]
set r2 [$ns node]
join_nodes $r1 $r2 1000Mb 4.8ms 833

for {set i 0} {$i < $flows} {incr i} {
    set left [$ns node]
    set right [$ns node]
    join_nodes $left $r1 10000Mb 0.1ms 1000
    join_nodes $r2 $right 10000Mb 0.1ms 1000
    set tcp($i) [new Agent/TCP/Linux]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $left $tcp($i)
    $ns attach-agent $right $sink
    $ns connect $tcp($i) $sink
    $ns at 0 "$tcp($i) select_ca cubic"
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at 0 "$ftp start"
}

# Data and acknowledgements cross three links each. A packet sent again is one that the bottleneck's queue had dropped
# after its first link. What is on its way at the end counts as arrived: under 0.1 % of all.
proc finish {} {
    global tcp flows
    set hops 0
    for {set i 0} {$i < $flows} {incr i} {
        set data [$tcp($i) set ndatapack_]
        set again [$tcp($i) set nrexmitpack_]
        set acks [$tcp($i) set nackpack_]
        set hops [expr {$hops + 3 * $data - 2 * $again + 3 * $acks}]
    }
    puts [format {hops %.0f} $hops]
    exit 0
}
$ns at $seconds finish
$ns run
