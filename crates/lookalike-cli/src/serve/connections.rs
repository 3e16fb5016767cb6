//! Connections: taken until the program is asked to stop, then let finish.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::patience::PatientStream;
use crate::interrupt;

/// Connections at the same time; more wait in the system's queue.
const MOST_CONNECTIONS: usize = 1_024;
/// How long a client may take for the head of a request, or say nothing between two.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long a client may take nothing of its answer; less where requests have less time.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait when the system has no more connections to give.
const PAUSE: Duration = Duration::from_millis(100);
/// What is left for an answer to reach its reader, once its time is over.
const MARGIN: Duration = Duration::from_secs(2);

/// Answers until the program is asked to stop; `stopping` is called then. Requests that are under way are finished, within
/// the time that a request has.
pub(super) async fn answer(listener: TcpListener, router: Router, time: Duration, stopping: impl FnOnce()) {
    let open = GracefulShutdown::new();
    let patience = Patience { head: HEAD_PATIENCE, answer: ANSWER_PATIENCE.min(time + MARGIN) };
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
        let connection = open.watch(connection(stream, router.clone(), patience));
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                let reason = error.source().map(tracing::field::display);
                tracing::debug!(%error, reason, "a connection broke off");
            }
        });
    }
    drop(listener);
    stopping();
    if tokio::time::timeout(time + MARGIN, open.shutdown()).await.is_err() {
        tracing::warn!("some requests were not finished in time");
    }
}

/// How long a client is waited for.
#[derive(Clone, Copy)]
struct Patience {
    head: Duration,
    answer: Duration,
}

/// Answers the requests of one client.
fn connection(
    stream: TcpStream,
    router: Router,
    patience: Patience,
) -> http1::Connection<TokioIo<PatientStream>, TowerToHyperService<Router>> {
    // Answers are small and whole: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let stream = PatientStream::new(stream, patience.answer);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.head)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
}

/// Waits for Ctrl-C or a request to end. The handler of signals only sets a flag, which is looked at often enough.
async fn stop_is_requested() {
    const LOOK_EVERY: Duration = Duration::from_millis(50);
    while !interrupt::is_requested() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::SocketAddr;
    use std::time::Instant;

    use axum::routing::get;

    use super::*;

    /// More than the buffers of any system hold.
    const LARGE: usize = 64 << 20;

    /// Lets a client talk to a service that has one large answer; gives how the connection ended, and what the client says.
    async fn serve_large<T: Send + 'static>(
        patience: Patience,
        client: impl FnOnce(std::net::TcpStream) -> T + Send + 'static,
    ) -> (hyper::Result<()>, T) {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            client(stream)
        });
        let (stream, _) = listener.accept().await.unwrap();
        let router = Router::new().route("/", get(|| async { vec![b'x'; LARGE] }));
        let end = connection(stream, router, patience).await;
        (end, client.join().unwrap())
    }

    #[tokio::test]
    async fn the_time_for_the_next_head_does_not_pass_while_an_answer_is_taken() {
        let patience = Patience { head: Duration::from_millis(200), answer: Duration::from_secs(10) };
        let (_, taken) = serve_large(patience, move |mut stream| {
            let mut piece = vec![0; 64 << 10];
            let (begin, mut taken) = (Instant::now(), 0);
            loop {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => return taken,
                    Ok(length) => taken += length,
                }
                if begin.elapsed() < 10 * patience.head {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        })
        .await;
        assert!(taken > LARGE, "{taken} bytes came");
    }

    #[tokio::test]
    async fn who_takes_nothing_is_given_up() {
        let patience = Patience { head: Duration::from_secs(60), answer: Duration::from_millis(200) };
        let begin = Instant::now();
        let (end, _stream) = serve_large(patience, |stream| stream).await;
        let reason = format!("{:?}", end.unwrap_err());
        assert!(reason.contains("takes nothing of its answer for 200ms"), "{reason}");
        assert!((patience.answer..patience.head).contains(&begin.elapsed()));
    }
}
