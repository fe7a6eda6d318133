use super::*;
use crate::line::escaped;
use proptest::prelude::*;

/// The only flow of a plan.
fn only(text: &str) -> Flow {
    let plan = parse(text).unwrap();
    assert_eq!(plan.flows.len(), 1);
    plan.flows[0].clone()
}

#[test]
fn setup_statements_keep_their_order_and_their_words() {
    let plan = parse(
        "# a comment\n\
         card 0 10.0.0.1      # address of interface 0\n\
         card 1 10.0.1.1 9000\n\
         route 10.0.0.2 card 0 source 10.0.0.1\n\
         route 10.2.0.0/16 card 1\n\
         route 10.0.0.3 card 0 source 10.0.0.1 initcwnd 20\n\
         until 5000\n\
         \n\
         sysctl net.ipv4.tcp_rmem 4096 131072 6291456\n\
         module tcp_cubic.hystart 0\n\
         mptcp limits 8 7\n\
         mptcp endpoint 10.0.1.1 subflow backup\n\
         sample 10000000\n\
         off-when-done\n",
    )
    .unwrap();
    let address = |text: &str| text.parse::<Ipv4Addr>().unwrap();
    let setup: Vec<Setup> = plan.setup.iter().map(|(_, setup)| setup.clone()).collect();
    assert_eq!(
        setup,
        [
            Setup::Card { number: 0, address: address("10.0.0.1"), mtu: 1500 },
            Setup::Card { number: 1, address: address("10.0.1.1"), mtu: 9000 },
            Setup::Route(Route {
                destination: Prefix(address("10.0.0.2"), 32),
                card: 0,
                source: Some(address("10.0.0.1")),
                window: None
            }),
            Setup::Route(Route { destination: Prefix(address("10.2.0.0"), 16), card: 1, source: None, window: None }),
            Setup::Route(Route {
                destination: Prefix(address("10.0.0.3"), 32),
                card: 0,
                source: Some(address("10.0.0.1")),
                window: Some(20)
            }),
            Setup::Sysctl { key: "net.ipv4.tcp_rmem".into(), value: "4096 131072 6291456".into() },
            Setup::Module { key: "tcp_cubic.hystart".into(), value: "0".into() },
            Setup::MptcpLimits { subflows: 8, accepted: 7 },
            Setup::MptcpEndpoint { address: address("10.0.1.1"), flags: 0b110 },
        ]
    );
    assert_eq!(plan.setup[0].0, "card 0 10.0.0.1");
    assert_eq!((plan.sample, plan.off_when_done), (Some(10_000_000), true));
}

#[test]
fn a_flow_has_what_its_keys_say() {
    let flow = only(
        "flow number=3 transport=tcp role=client start=1000000000 local=10.0.0.1:49152 peer=10.0.0.2:5001 act=send \
         size=10000000 cc=bbr nodelay=1 sndbuf=100000",
    );
    assert_eq!((flow.number, flow.transport, flow.role), (3, Transport::Tcp, Role::Client));
    assert_eq!((flow.act, flow.start, flow.size), (Act::Send, Some(1_000_000_000), Some(10_000_000)));
    assert_eq!((flow.local.to_string(), flow.peer.to_string()), ("10.0.0.1:49152".into(), "10.0.0.2:5001".into()));
    assert_eq!((flow.cc.as_deref(), flow.nodelay, flow.sndbuf, flow.rcvbuf), (Some("bbr"), true, Some(100_000), None));
}

#[test]
fn sctp_lists_addresses_and_udp_needs_a_payload_and_a_rate() {
    let ends = "local=10.0.0.1:1 peer=10.0.0.2:2 act=send size=1";
    let flow = only(&format!(
        "flow number=5 transport=sctp role=client {ends} message=1452 locals=10.0.0.1,10.0.1.1 peers=10.0.0.2"
    ));
    assert_eq!(flow.locals, ["10.0.0.1".parse::<Ipv4Addr>().unwrap(), "10.0.1.1".parse().unwrap()]);
    assert_eq!((flow.peers.len(), flow.message), (1, Some(1452)));
    let udp = |rest: &str| parse(&format!("flow number=4 transport=udp role=client {ends} {rest}"));
    assert!(udp("payload=1472 rate=750000").is_ok());
    assert!(udp("payload=1472").unwrap_err().ends_with("the flow lacks rate="));
    assert!(udp("payload=7 rate=1").unwrap_err().ends_with("bad value 7"));
}

#[test]
fn a_program_is_the_rest_of_the_line() {
    let program =
        |text: &str| only(&format!("flow number=6 transport=command role=client start=0 program={text}")).program;
    assert_eq!(program("iperf3 -c 10.0.0.2 -n 1M"), "iperf3 -c 10.0.0.2 -n 1M");
    assert_eq!(program(r"echo one\{a}echo C:\{5c}new"), "echo one\necho C:\\new");
    assert_eq!(program("  echo a program=b "), "  echo a program=b ");
    assert_eq!(program("echo a=1 # \"b\"  c"), "echo a=1 # \"b\"  c");
    assert_eq!(program("\"/a b\" \"c\""), "\"/a b\" \"c\"");
}

#[test]
fn what_is_no_statement_is_named_with_the_reason() {
    let cases = [
        ("crad 0 10.0.0.1", "crad 0 10.0.0.1: no such statement"),
        ("card 0 10.0.0.300", "card 0 10.0.0.300: bad value 10.0.0.300"),
        ("route 10.0.0.0/33 card 0", "route 10.0.0.0/33 card 0: bad value 10.0.0.0/33"),
        ("mptcp endpoint 10.0.1.1 sub", "mptcp endpoint 10.0.1.1 sub: no endpoint flag sub"),
        (r"sysctl net.x \n", r"sysctl net.x \n: bad text \n"),
        ("flow number=1 transport=quic", "flow number=1 transport=quic: bad value quic"),
        ("flow number=1 speed=1", "flow number=1 speed=1: a flow has no speed"),
        ("flow transport=tcp role=client", "flow transport=tcp role=client: a flow has a number"),
    ];
    for (line, error) in cases {
        assert_eq!(parse(line).unwrap_err(), error);
    }
}

proptest! {
    /// Whatever a user writes where: it is what the statement has, and the statement is the only one.
    #[test]
    fn no_text_forges_a_statement(value in any::<String>(), program in any::<String>()) {
        prop_assume!(!program.is_empty());
        let (line, command) = (escaped(&value), escaped(&program));
        let plan = parse(&format!(
            "sysctl net.a {line}\nmodule b.c {line}\nflow number=1 transport=command role=client program={command}\nuntil 7\n"
        )).unwrap();
        let setup: Vec<Setup> = plan.setup.into_iter().map(|(_, setup)| setup).collect();
        let sysctl = Setup::Sysctl { key: "net.a".into(), value: value.clone() };
        prop_assert_eq!(setup, [sysctl, Setup::Module { key: "b.c".into(), value }]);
        let programs: Vec<String> = plan.flows.into_iter().map(|flow| flow.program).collect();
        prop_assert_eq!((programs, plan.until, plan.off_when_done), (vec![program], Some(7), false));
    }
}
