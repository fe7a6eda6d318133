# What a scenario asks of ns-2, as procedures. The script that follows calls them with numbers and names of ns-2's own
# classes and variables, and ends with `go`. Files in the working directory take what was measured:
#   drops    each packet that a queue dropped, as ns-2's trace format has it
#   cuts.N   flow N: each change of the threshold, and until the first one the count of packets sent
#   looks    now and then: flow, time, window and threshold in packets, highest packet sent, highest acknowledged,
#            duplicate acknowledgements in a row, timeouts so far
#   flows    at the end: flow, packets sent, of these again, highest acknowledged, highest sent, timeouts
#   ways     at the end: direction of a link, bytes and packets sent, packets dropped, packets that wait

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler Splay
set drops [open drops w]
set looks [open looks w]
set monitors {}

proc hosts {count} {
    global ns node
    for {set i 0} {$i < $count} {incr i} { set node($i) [$ns node] }
}

# A direction of a link. ns-2's limit counts one place more than packets can wait.
proc way {from to rate delay waiting} {
    global ns node drops monitors seen bytes
    set a $node($from)
    set b $node($to)
    $ns simplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b [expr {$waiting + 1}]
    set number [llength $monitors]
    set seen($number) 0
    set bytes($number) 0
    lappend monitors [$ns monitor-queue $a $b ""]
    set head [[$ns link $a $b] set drophead_]
    set dropped [$ns create-trace Drop $drops $a $b]
    $dropped target [$head target]
    $head target $dropped
}

# A flow with data from its start to the end of the run. Settings are those of the agent's class when it is made.
proc flow {number from to start agent sink module settings} {
    global ns node tcp counter initial
    foreach {name value} $settings { $agent set $name $value }
    set tcp($number) [new $agent]
    set receiver [new $sink]
    $tcp($number) set fid_ $number
    $ns attach-agent $node($from) $tcp($number)
    $ns attach-agent $node($to) $receiver
    $ns connect $tcp($number) $receiver
    set initial($number) [$tcp($number) set ssthresh_]
    set file [open cuts.$number w]
    watch $number ssthresh_ $file
    set counter($number) [watch $number ndatapack_ $file]
    if {$module ne ""} { $ns at 0 "$tcp($number) select_ca $module" }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($number)
    $ns at $start "$ftp start"
}

proc watch {number variable file} {
    global tcp
    set watch [new Trace/Var]
    $watch attach $file
    $tcp($number) trace $variable $watch
    return $watch
}

# ns-2's counts of bytes begin anew at 2^32, which a fast link passes within seconds: what is new is added up.
proc count {span} {
    global ns monitors seen bytes
    set number 0
    foreach monitor $monitors {
        set now [$monitor set bdepartures_]
        set bytes($number) [expr {wide($bytes($number)) + ((wide($now) - $seen($number)) & 0xffffffff)}]
        set seen($number) $now
        incr number
    }
    $ns at [expr {[$ns now] + $span}] "count $span"
}

# Each flow as it is now. Packets are counted one by one until slow start has ended: later that would fill the disk.
proc look {span} {
    global ns tcp counter initial looks
    set now [$ns now]
    foreach number [array names tcp] {
        set agent $tcp($number)
        set line "$number $now"
        foreach variable {cwnd_ ssthresh_ maxseq_ ack_ dupacks_ nrexmit_} { append line " [$agent set $variable]" }
        puts $looks $line
        if {$counter($number) ne "" && [$agent set ssthresh_] != $initial($number)} {
            $counter($number) detach
            set counter($number) ""
        }
    }
    $ns at [expr {$now + $span}] "look $span"
}

proc finish {} {
    global ns tcp monitors bytes
    count 1
    set flows [open flows w]
    foreach number [array names tcp] {
        set agent $tcp($number)
        set line $number
        foreach variable {ndatapack_ nrexmitpack_ ack_ maxseq_ nrexmit_} { lappend line [$agent set $variable] }
        puts $flows $line
    }
    set ways [open ways w]
    set number 0
    foreach monitor $monitors {
        set line "$number $bytes($number)"
        foreach variable {pdepartures_ pdrops_ pkts_} { lappend line [$monitor set $variable] }
        puts $ways $line
        incr number
    }
    exit 0
}

proc go {until look count seed} {
    global ns defaultRNG
    $defaultRNG seed $seed
    $ns at 0 "look $look"
    $ns at 0 "count $count"
    $ns at $until finish
    $ns run
}
