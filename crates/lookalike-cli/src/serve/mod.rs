//! The service: HTTP in front of an index, a comparison and the S-curve.
//!
//! A request goes `connections → routes → body → handler`. Reads work on a snapshot, on threads of their own; writes go
//! through the one [`writer`], which commits for all that wait. Whatever is refused is a [`problem`].

mod about;
mod access;
mod body;
mod compare;
mod connections;
mod content;
mod items;
mod metrics;
mod page;
mod patience;
mod plan;
mod problem;
mod query;
mod request_log;
mod routes;
mod shown_index;
mod state;
mod writer;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;

pub(crate) use access::Tokens;
pub(crate) use state::Limits;

use self::access::Access;
use self::metrics::Metrics;
use self::state::{Served, Service};
use crate::command::serve::LogLevel;

/// What is served, and to whom.
pub(crate) struct Options {
    pub(crate) index: Option<PathBuf>,
    pub(crate) listen: String,
    pub(crate) read_only: bool,
    pub(crate) tokens: Option<Tokens>,
    /// Whether reads need a token too.
    pub(crate) private: bool,
    /// Names by which the service may be called.
    pub(crate) hosts: Vec<String>,
    pub(crate) log: LogLevel,
    pub(crate) quiet: bool,
    pub(crate) limits: Limits,
}

/// What answers requests for an index, without a network.
pub(crate) fn router(index: &Path) -> Result<axum::Router> {
    let metrics = Arc::new(Metrics::new());
    let served = Served::open(index, &metrics)?;
    let limits = Limits { threads: 1, requests: 8, body: 1 << 20, time: Duration::from_secs(30) };
    let access = Access::new(None, false, SocketAddr::from(([127, 0, 0, 1], 80)), &[]);
    Ok(routes::router(Arc::new(Service::new(limits, access, metrics, Some(served))?)))
}

/// Serves until the program is asked to stop.
pub(crate) fn run(options: Options) -> Result<()> {
    request_log::start(options.log);
    let metrics = Arc::new(Metrics::new());
    let open = if options.read_only { Served::open_to_read } else { Served::open };
    let served = options.index.as_deref().map(|path| open(path, &metrics)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot start the threads of the service")?;
    runtime.block_on(serve(options, metrics, served))?;
    // Queries whose askers have gone are not waited for.
    runtime.shutdown_background();
    Ok(())
}

async fn serve(options: Options, metrics: Arc<Metrics>, served: Option<Served>) -> Result<()> {
    let listen = &options.listen;
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}; choose another address with --listen"))?;
    let address = listener.local_addr()?;
    let follower = match (&served, options.index) {
        (Some(served), Some(path)) if served.is_read_only() => {
            Some(tokio::spawn(Arc::clone(&served.shown).follow(path)))
        }
        _ => None,
    };
    let access = Access::new(options.tokens, options.private, address, &options.hosts);
    let service = Arc::new(Service::new(options.limits, access, metrics, served)?);
    if !options.quiet {
        // Nothing can be done about a closed stderr.
        let _ = writeln!(std::io::stderr(), "listening on http://{address}");
    }
    let router = routes::router(Arc::clone(&service));
    connections::answer(listener, router, options.limits.time, || service.is_about_to_stop()).await;
    service.close().await;
    if let Some(follower) = follower {
        follower.abort();
    }
    tracing::info!("stopped");
    Ok(())
}
