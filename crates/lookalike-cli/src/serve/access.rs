//! Who may ask: the name by which the service is called, the page that asks, and the token.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::{Context, Result, bail};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use subtle::{Choice, ConstantTimeEq};

use super::problem::Problem;

/// The longest token. All are compared as if they were that long, so that the time tells nothing about them.
const LONGEST_TOKEN: usize = 256;
/// The shortest one that cannot be guessed by trying.
const SHORTEST_TOKEN: usize = 16;

/// The tokens that open the service.
pub(crate) struct Tokens(Vec<[u8; LONGEST_TOKEN]>);

impl Tokens {
    /// Reads a file with one token a line; several, so that a new one can be given out before the old one goes.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the token file {shown}"))?;
        Self::parse(&text).with_context(|| format!("in the token file {shown}"))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut tokens = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let token = line.trim();
            if token.is_empty() {
                continue;
            }
            let line = number + 1;
            if !(SHORTEST_TOKEN..=LONGEST_TOKEN).contains(&token.len()) {
                bail!(
                    "the token on line {line} must have {SHORTEST_TOKEN} to {LONGEST_TOKEN} characters; make one with: openssl rand -hex 32"
                );
            }
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                bail!(
                    "the token on line {line} has characters that a header cannot carry; make one with: openssl rand -hex 32"
                );
            }
            tokens.push(padded(token.as_bytes()));
        }
        if tokens.is_empty() {
            bail!("there is no token; make one with: openssl rand -hex 32");
        }
        Ok(Self(tokens))
    }

    /// Whether the token is one of these, in a time that depends on neither.
    fn has(&self, token: &[u8]) -> bool {
        if token.len() > LONGEST_TOKEN {
            return false;
        }
        let token = padded(token);
        self.0.iter().fold(Choice::from(0), |found, known| found | known.ct_eq(&token)).into()
    }
}

/// A token, filled up with what no token contains.
fn padded(token: &[u8]) -> [u8; LONGEST_TOKEN] {
    let mut padded = [0; LONGEST_TOKEN];
    padded[..token.len()].copy_from_slice(token);
    padded
}

/// What a request wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// The page, health and the description of the service: no data.
    Public,
    Read,
    Write,
}

/// The rules.
pub(super) struct Access {
    tokens: Option<Tokens>,
    is_private: bool,
    is_loopback: bool,
    hosts: Vec<String>,
}

impl Access {
    pub(super) fn new(tokens: Option<Tokens>, is_private: bool, listens_on: SocketAddr, hosts: &[String]) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { tokens, is_private, is_loopback: listens_on.ip().to_canonical().is_loopback(), hosts }
    }

    /// Refuses a request that may not do what it wishes.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap, wish: Wish) -> Result<(), Problem> {
        let host = self.check_host(uri, headers)?;
        check_origin(headers, &host)?;
        match (&self.tokens, wish) {
            (_, Wish::Public) => Ok(()),
            (Some(_), Wish::Read) if !self.is_private => Ok(()),
            (Some(tokens), _) => check_token(tokens, headers),
            (None, Wish::Read) => Ok(()),
            (None, Wish::Write) if self.is_loopback => Ok(()),
            (None, Wish::Write) => Err(Problem::forbidden(
                "without a token, writes are taken on loopback addresses only; start the service with --token-file",
            )),
        }
    }

    /// A page of another site can have its own name point to this address, and would then be of the same origin. So only
    /// names are taken that nobody else can own: addresses, localhost, and those that were allowed.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<Authority, Problem> {
        let named =
            headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(uri.authority().map(|a| a.as_str()));
        let host = named.and_then(|host| host.parse::<Authority>().ok());
        let host = host.ok_or_else(|| Problem::bad_request("the request has no valid Host header; send one"))?;
        let name = host.host().to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_known = match address {
            // A service on loopback is called by loopback addresses; one that others reach, by whatever address it has.
            Ok(address) => !self.is_loopback || address.to_canonical().is_loopback(),
            Err(_) => name == "localhost",
        };
        if is_known || self.hosts.contains(&name) {
            return Ok(host);
        }
        Err(Problem::unknown_host(format!(
            "the request is for the host {name:?}; if that is this service, start it with --allow-host {name}"
        )))
    }
}

/// A browser says which site's page sends a request. There is no CORS: only the service's own page may.
fn check_origin(headers: &HeaderMap, host: &Authority) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    if authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_str())) {
        return Ok(());
    }
    Err(Problem::foreign(format!("the request comes from a page of {origin:?}; only the page of {host} may ask")))
}

fn check_token(tokens: &Tokens, headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let Some(given) = given else {
        return Err(Problem::unauthorized("send the header Authorization: Bearer TOKEN"));
    };
    const SCHEME: &[u8] = b"bearer ";
    let token = given
        .split_at_checked(SCHEME.len())
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME))
        .map(|(_, token)| token.trim_ascii());
    match token {
        Some(token) if tokens.has(token) => Ok(()),
        Some(_) => Err(Problem::unauthorized("the token is not one of the service's token file; check it")),
        None => Err(Problem::unauthorized("the header Authorization has another form than: Bearer TOKEN")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn access(listens_on: &str, tokens: Option<&str>, is_private: bool) -> Access {
        let tokens = tokens.map(|text| Tokens::parse(text).unwrap());
        Access::new(tokens, is_private, listens_on.parse().unwrap(), &["Search.example.org".into()])
    }

    fn is_allowed(access: &Access, wish: Wish, headers: &[(&'static str, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        access.check(&Uri::from_static("/"), &headers, wish).is_ok()
    }

    #[test]
    fn names_that_anybody_can_own_are_refused() {
        let local = access("127.0.0.1:80", None, false);
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:9", "[::1]:80", "127.0.0.2", "search.example.org:443"] {
            assert!(is_allowed(&local, Wish::Read, &[("host", host)]), "{host}");
        }
        for host in ["example.org", "localhost.example.org", "192.0.2.1", "", "a b", "127.0.0.1.example.org"] {
            assert!(!is_allowed(&local, Wish::Public, &[("host", host)]), "{host}");
        }
        let open = access("0.0.0.0:80", None, false);
        assert!(is_allowed(&open, Wish::Read, &[("host", "192.0.2.1:80")]));
        assert!(!is_allowed(&open, Wish::Read, &[("host", "example.org")]));
        assert!(!is_allowed(&open, Wish::Read, &[]));
    }

    #[test]
    fn only_the_own_page_may_ask() {
        let local = access("127.0.0.1:80", None, false);
        let from = |origin| is_allowed(&local, Wish::Write, &[("host", "localhost:8080"), ("origin", origin)]);
        assert!(from("http://localhost:8080") && from("https://LOCALHOST:8080"));
        for origin in ["http://localhost", "http://localhost:8081", "http://example.org", "null", "", "file://"] {
            assert!(!from(origin), "{origin}");
        }
    }

    #[test]
    fn tokens_guard_what_they_should() {
        let bearer = format!("bearer  {TOKEN}");
        let headers = |token| [("host", "127.0.0.1"), ("authorization", token)];
        let guarded = access("0.0.0.0:80", Some(&format!("\n{TOKEN}\r\nanother-token-of-mine")), false);
        assert!(is_allowed(&guarded, Wish::Read, &[("host", "127.0.0.1")]));
        assert!(!is_allowed(&guarded, Wish::Write, &[("host", "127.0.0.1")]));
        assert!(is_allowed(&guarded, Wish::Write, &headers(&bearer)));
        assert!(is_allowed(&guarded, Wish::Write, &headers("Bearer another-token-of-mine")));
        let too_long = format!("Bearer {}", "x".repeat(5000));
        for wrong in
            ["Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Basic x", &too_long, TOKEN]
        {
            assert!(!is_allowed(&guarded, Wish::Write, &headers(wrong)), "{wrong}");
        }
        let private = access("127.0.0.1:80", Some(TOKEN), true);
        assert!(!is_allowed(&private, Wish::Read, &[("host", "127.0.0.1")]));
        assert!(is_allowed(&private, Wish::Public, &[("host", "127.0.0.1")]));
        assert!(is_allowed(&private, Wish::Read, &headers(&bearer)));
    }

    #[test]
    fn without_tokens_only_loopback_writes() {
        assert!(is_allowed(&access("127.0.0.1:80", None, false), Wish::Write, &[("host", "127.0.0.1")]));
        assert!(is_allowed(&access("[::1]:80", None, false), Wish::Write, &[("host", "[::1]")]));
        assert!(!is_allowed(&access("0.0.0.0:80", None, false), Wish::Write, &[("host", "127.0.0.1")]));
    }

    #[test]
    fn token_files_without_a_good_token_are_refused() {
        for text in ["", "\n \n", "short", "has a blank inside it", "nicht-übertragbar-genug", &"x".repeat(300)] {
            assert!(Tokens::parse(text).is_err(), "{text:?}");
        }
    }
}
