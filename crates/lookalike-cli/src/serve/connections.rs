//! Connections: taken until the program is asked to stop, then let finish.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::interrupt;

/// Connections at the same time; more wait in the system's queue.
const MOST_CONNECTIONS: usize = 1_024;
/// How long a client may take for the head of a request, or say nothing between two.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait when the system has no more connections to give.
const PAUSE: Duration = Duration::from_millis(100);
/// What is left for an answer to reach its reader, once its time is over.
const MARGIN: Duration = Duration::from_secs(2);

/// Answers until the program is asked to stop; `stopping` is called then. Requests that are under way are finished, within
/// the time that a request has.
pub(super) async fn answer(listener: TcpListener, router: Router, time: Duration, stopping: impl FnOnce()) {
    let open = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut stop = pin!(stop_is_requested());
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Answers are small and whole: waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_PATIENCE)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = open.watch(connection);
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
        });
    }
    drop(listener);
    stopping();
    if tokio::time::timeout(time + MARGIN, open.shutdown()).await.is_err() {
        tracing::warn!("some requests were not finished in time");
    }
}

/// Waits for Ctrl-C or a request to end. The handler of signals only sets a flag, which is looked at often enough.
async fn stop_is_requested() {
    const LOOK_EVERY: Duration = Duration::from_millis(50);
    while !interrupt::is_requested() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
