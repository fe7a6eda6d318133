# One association of Agent/SCTP/CMT over two paths of 45 Mbit/s and 24 ms each way that lose packets both ways. What ns-2
# traces is written to a file.
# Usage: ns ns2_association.tcl FILE BYTES POLICY RATE_1 RATE_2 SEED_OUT_1 SEED_BACK_1 SEED_OUT_2 SEED_BACK_2 SEED

lassign $argv name bytes policy rate(1) rate(2) out(1) back(1) out(2) back(2) seed_of_all
Trace set show_sctphdr_ 1
set ns [new Simulator]
$ns trace-all [open $name w]
foreach side {a b} { set core($side) [$ns node] }
foreach path {1 2} {
    foreach side {a b} {
        set node($side$path) [$ns node]
        $ns multihome-add-interface $core($side) $node($side$path)
    }
    $ns duplex-link $node(a$path) $node(b$path) 45Mb 24ms DropTail
    foreach {from to seed} [list a b $out($path) b a $back($path)] {
        $ns queue-limit $node($from$path) $node($to$path) 1001
        set errors [new ErrorModel]
        $errors set rate_ $rate($path)
        set generator [new RNG]
        $generator seed $seed
        set uniform [new RandomVariable/Uniform]
        $uniform use-rng $generator
        $errors ranvar $uniform
        $ns link-lossmodel $errors $node($from$path) $node($to$path)
        $errors drop-target [new Agent/Null]
    }
}
foreach side {a b} {
    set agent($side) [new Agent/SCTP/CMT]
    foreach {variable value} "useCmtPF_ 0 useMaxBurst_ 0 eCmtRtxPolicy_ $policy initialRwnd_ 16000000 initialSsthresh_ 66258" {
        $agent($side) set $variable $value
    }
    $ns multihome-attach-agent $core($side) $agent($side)
}
$ns connect $agent(a) $agent(b)
$agent(a) set-primary-destination $node(b1)
$agent(b) set-primary-destination $node(a1)
foreach path {1 2} { $agent(a) set-destination-lossrate $node(b$path) $rate($path) }
set ftp [new Application/FTP]
$ftp attach-agent $agent(a)
$ns at 0 "$ftp send $bytes"
$ns at 300 "exit 0"
$defaultRNG seed $seed_of_all
$ns run
