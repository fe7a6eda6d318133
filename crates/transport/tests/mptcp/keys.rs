//! Values derived from keys, compared with Linux and tshark.

use vazao_transport::mptcp::keys::{Hash, Secret, address_hmac, truncate};

/// Capture of a connection between two Linux 6.12 hosts: client's and server's keys in MP_CAPABLE, nonces in the
/// MP_JOIN of the second subflow, which the client opened.
const CLIENT: Secret = Secret { key: 0xe651_5012_bbc3_e672, nonce: 0x0080_9148 };
const SERVER: Secret = Secret { key: 0x505b_51ed_2704_fa74, nonce: 0x3a16_a5cf };

/// Eight bytes of text as a number.
fn number(text: &str) -> u64 {
    u64::from_be_bytes(text.as_bytes().try_into().unwrap())
}

/// The token is in the client's MP_JOIN; data begins one above the initial data sequence numbers.
#[test]
fn linux_derives_the_same_tokens_and_sequence_numbers() {
    assert_eq!(Hash::Sha256.token(SERVER.key), 0xbf99_1671);
    assert_eq!(Hash::Sha256.initial_data_sequence(CLIENT.key) + 1, 0x234c_4fcf_6c5d_d454);
    assert_eq!(Hash::Sha256.initial_data_sequence(SERVER.key) + 1, 0x9a48_2159_2761_d85f);
}

#[test]
fn linux_derives_the_same_hmacs() {
    assert_eq!(truncate(Hash::Sha256.join_hmac(SERVER, CLIENT)), 0xb0be_6f60_b97b_bb3a);
    let client = 0xf9d6_00ad_989d_bf96_7524_a596_3113_da38_u128.to_be_bytes();
    let rest = 0x4421_0053_u32.to_be_bytes();
    assert_eq!(Hash::Sha256.join_hmac(CLIENT, SERVER)[..], [&client[..], &rest].concat());
}

/// An ADD_ADDR of the server: address 2 is 10.0.0.4.
#[test]
fn linux_authenticates_its_addresses_alike() {
    let hmac = |port| address_hmac(SERVER.key, CLIENT.key, 2, [10, 0, 0, 4], port);
    assert_eq!(hmac(None), 0x9f9c_6779_0232_0d72);
    // RFC 8684 section 3.4.1: a missing port counts as port 0.
    assert_eq!(hmac(Some(0)), hmac(None));
    assert_ne!(hmac(Some(80)), hmac(None));
}

/// Cases of Linux's own HMAC test (net/mptcp/crypto_test.c), whose keys and nonces are bytes of text.
#[test]
fn the_cases_of_linux_hold() {
    let cases = [
        ("0b0b0b0b0b0b0b0b", "48692054", "8385e24fb4235ac37556b6b886db106284a1da67"),
        ("aaaaaaaaaaaaaaaa", "dddddddd", "2c5e219164ff1dca1c4a92318d847bb6b9d44492"),
        ("0102030405060708", "cdcdcdcd", "e73b9ba9969969cefb04aa0d6df18ec2fcc075b6"),
    ];
    for (keys, nonces, hmac) in cases {
        let nonce = |text: &str| u32::from_be_bytes(text.as_bytes().try_into().unwrap());
        let own = Secret { key: number(&keys[..8]), nonce: nonce(&nonces[..4]) };
        let peer = Secret { key: number(&keys[8..]), nonce: nonce(&nonces[4..]) };
        let got: String = Hash::Sha256.join_hmac(own, peer).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(got, hmac);
    }
}

/// `mptcp.expected_token` and `mptcp.expected_idsn` of tshark 4.0 for MP_CAPABLE options with these keys, for version 1
/// and version 0.
#[test]
fn tshark_derives_the_same() {
    let cases = [
        (Hash::Sha256, 0x0123_4567_89ab_cdef, 0x55c5_3f5d, 0x5707_62cd_38be_9818),
        (Hash::Sha256, 0xfedc_ba98_7654_3210, 0x18f9_781b, 0x2808_18bf_0fa7_e28e),
        (Hash::Sha1, 0x0123_4567_89ab_cdef, 0x0ca2_eadb, 0xe3df_8ee1_21f1_0547),
        (Hash::Sha1, 0xfedc_ba98_7654_3210, 0xa5be_6871, 0x334f_c234_bee4_95ca),
    ];
    for (hash, key, token, idsn) in cases {
        assert_eq!((hash.token(key), hash.initial_data_sequence(key)), (token, idsn));
    }
}

/// Value computed by OpenSSL (`openssl dgst -sha1 -mac hmac`) from the nonces 00809148 3a16a5cf under the two keys.
#[test]
fn version_0_has_the_same_layout_with_the_older_hash() {
    let hmac = Hash::Sha1.join_hmac(CLIENT, SERVER);
    let got: String = hmac.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(got, "00d2c07ebc432d2e6a652ccdaa046f402d57e4e1");
}
