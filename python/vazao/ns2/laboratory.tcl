# What a scenario asks of ns-2, as procedures. The script that follows calls them with numbers and names of ns-2's own
# classes and variables, and ends with `go`. Files in the working directory take what was measured:
#   drops    each packet that a queue dropped, as ns-2's trace format has it
#   cuts.N   flow N: each change of the threshold, and until the first one the count of packets sent
#   looks    now and then: flow, time, window and threshold in packets, highest packet sent, highest acknowledged,
#            duplicate acknowledgements in a row, timeouts so far
#   flows    at the end: flow, packets sent, of these again, highest acknowledged, highest sent, timeouts
#   ways     at the end: direction of a link, bytes and packets sent, packets dropped, packets that wait, packets lost
# Of an association, which is alone in its run:
#   windows  now and then: the time, and a line of ns-2's own on each path
#   paths    at the end: path, packets sent, of these again
#   all      at the end: the time, when the first data left and when it was read (-1: not), chunks read, chunks that had
#            arrived before, timeouts

remove-all-packet-headers
add-packet-header IP TCP SCTP Flags
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
    global ns node drops monitors seen bytes lost
    set a $node($from)
    set b $node($to)
    $ns simplex-link $a $b $rate $delay DropTail
    $ns queue-limit $a $b [expr {$waiting + 1}]
    set number [llength $monitors]
    set seen($number) 0
    set bytes($number) 0
    set lost($number) 0
    lappend monitors [$ns monitor-queue $a $b ""]
    set head [[$ns link $a $b] set drophead_]
    set dropped [$ns create-trace Drop $drops $a $b]
    $dropped target [$head target]
    $head target $dropped
}

# What a direction of a link loses on the wire: each packet with the same probability, by a stream of its own, or those of
# a list, counted from 0.
proc lose {number from to rate seed packets} {
    global ns node
    if {$packets eq ""} {
        set stream [new RNG]
        $stream seed $seed
        set uniform [new RandomVariable/Uniform]
        $uniform use-rng $stream
        set model [new ErrorModel]
        $model set rate_ $rate
        $model ranvar $uniform
    } else {
        set model [new ErrorModel/List]
        $model droplist $packets
    }
    $model unit pkt
    $ns link-lossmodel $model $node($from) $node($to)
    $model drop-target [tap [$ns set nullAgent_] "lost $number"]
}

# A tap on packets of SCTP: for each chunk that passes, a procedure is called with ns-2's line about it.
proc tap {target call} {
    set tap [new Trace/Hop]
    $tap set callback_ 1
    $tap set show_sctphdr_ 1
    $tap proc handle {line} "$call \$line"
    $tap target $target
    return $tap
}

proc lost {number line} {
    global lost
    incr lost($number)
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

# An association that sends so many bytes in so many chunks, over a path for each pair of nodes, which are interfaces of its
# hosts. Beside them a host has a core, by whose routes it finds the interface to send from. Paths are lists: node it leaves
# and node it arrives at, the node after the one and before the other, and the loss rate that the agent is told.
proc association {start bytes chunks agent settings paths} {
    global ns node sctp total sent again newest next needless ready first expired timeouts
    foreach {name value} $settings { $agent set $name $value }
    foreach end {0 1} {
        set core($end) [$ns node]
        set ends($end) [new $agent]
        foreach path $paths { $ns multihome-add-interface $core($end) $node([lindex $path $end]) }
        $ns multihome-attach-agent $core($end) $ends($end)
    }
    $ns connect $ends(0) $ends(1)
    set sctp $ends(0)
    set total $chunks
    foreach {variable value} {newest 0 next 1 needless 0 ready -1 first -1 expired -1 timeouts 0} { set $variable $value }
    set number 0
    foreach path [lreverse $paths] {
        foreach {from to after before rate} $path {}
        $ends(0) set-primary-destination $node($to)
        $ends(1) set-primary-destination $node($from)
        $ends(0) set-destination-lossrate $node($to) $rate
    }
    foreach path $paths {
        foreach {from to after before rate} $path {}
        set sent($number) 0
        set again($number) 0
        set head [[$ns link $node($from) $node($after)] head]
        $head target [tap [$head target] "departure $number"]
        set ttl [[$ns link $node($before) $node($to)] set ttl_]
        $ttl target [tap [$ttl target] arrival]
        incr number
    }
    set watch [new Trace/Var]
    $watch set callback_ 1
    $watch proc handle {line} expiry
    $sctp trace timeoutCount_ $watch
    set ftp [new Application/FTP]
    $ftp attach-agent $sctp
    $ns at $start "$ftp send $bytes"
}

# A chunk leaves its host: a letter says which kind, D for DATA, H for a heartbeat.
proc departure {path line} {
    global ns sent again newest ready expired timeouts
    incr sent($path)
    set now [$ns now]
    switch [string index [lindex $line 6] 7] {
        D {
            if {$ready < 0} { set ready $now }
            set tsn [lindex $line 11]
            if {$tsn > $newest} { set newest $tsn } else { incr again($path) }
            if {$expired == $now} { incr timeouts; set expired -1 }
        }
        H { if {$expired == $now} { set expired -1 } }
    }
}

# A timer of the sender has expired: that of data, unless the next that leaves at this moment is a heartbeat. Before data
# has left it is a heartbeat's, or the agent is being made.
proc expiry {} {
    global ns ready expired timeouts
    if {$ready < 0} return
    if {$expired >= 0} { incr timeouts }
    set expired [$ns now]
}

# A chunk arrives at its host. ns-2's application reads at once what is in order; the run ends with the last of the data.
proc arrival {line} {
    global ns total next beyond needless first
    if {[string index [lindex $line 6] 7] ne "D"} return
    set tsn [lindex $line 11]
    if {$tsn < $next || [info exists beyond($tsn)]} {
        incr needless
        return
    }
    set beyond($tsn) 1
    while {[info exists beyond($next)]} {
        unset beyond($next)
        incr next
    }
    if {$first < 0 && $next > 1} { set first [$ns now] }
    if {$next > $total} finish
}

# Windows of an association's paths, now and then. A CMT agent that has a file writes into it as it likes, too, with what
# happens to be in its memory (SendBufferDequeueUpTo): between two looks that goes nowhere.
proc windows {span} {
    global file nowhere
    set file [open windows w]
    set nowhere [open /dev/null w]
    see $span
}

proc see {span} {
    global ns sctp ready file nowhere
    if {$ready >= 0} {
        puts $file "now [$ns now]"
        $sctp attach $file
        $sctp print cwnd_
        $sctp attach $nowhere
    }
    $ns at [expr {[$ns now] + $span}] "see $span"
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
    global ns tcp monitors bytes lost total
    count 1
    if {[info exists total]} report
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
        puts $ways [lappend line $lost($number)]
        incr number
    }
    exit 0
}

# An association at the end.
proc report {} {
    global ns sent again next needless ready first expired timeouts
    set paths [open paths w]
    foreach path [array names sent] { puts $paths "$path $sent($path) $again($path)" }
    set all [open all w]
    puts $all "[$ns now] $ready $first [expr {$next - 1}] $needless [expr {$timeouts + ($expired >= 0)}]"
}

proc go {until look count seed} {
    global ns defaultRNG
    $defaultRNG seed $seed
    $ns at 0 "look $look"
    $ns at 0 "count $count"
    $ns at $until finish
    $ns run
}
