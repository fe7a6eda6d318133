# One transfer of Agent/TCP/Sack1 over a link that loses named packets; prints how long it took in seconds.
# Usage: ns ns2_transfer.tcl DELAY_MS RATE_MBPS QUEUE_PACKETS SEGMENTS WINDOW_SEGMENTS "LOST PACKETS"

lassign $argv delay rate queue segments window lost
set ns [new Simulator]
foreach name {sender router receiver} { set $name [$ns node] }
$ns duplex-link $sender $router 1000Mb 0.001ms DropTail
$ns duplex-link $router $receiver ${rate}Mb ${delay}ms DropTail
$ns queue-limit $sender $router 100000
$ns queue-limit $router $receiver $queue

set tcp [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$tcp set window_ $window
$ns attach-agent $sender $tcp
$ns attach-agent $receiver $sink
$ns connect $tcp $sink
if {[llength $lost]} {
    set errors [new ErrorModel/List]
    $errors droplist $lost
    $errors drop-target [new Agent/Null]
    $ns lossmodel $errors $router $receiver
}

Agent/TCP instproc done {} { puts [[Simulator instance] now]; exit 0 }
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$ftp produce $segments"
$ns at 1000 "exit 1"
$ns run
