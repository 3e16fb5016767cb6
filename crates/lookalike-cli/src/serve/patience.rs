//! How long a client is waited for that takes its answer slowly: as long as it takes something of it, and not for ever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// A stream whose writes fail when the client takes nothing for too long.
pub(super) struct PatientStream {
    stream: TcpStream,
    patience: Duration,
    /// Whether a write waits for the client.
    is_waiting: bool,
    /// Made when a write waits for the first time, which most connections never see.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl PatientStream {
    pub(super) fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream, patience, is_waiting: false, alarm: None }
    }

    /// Writes for a client that seems to have no room for more, or waits for it.
    ///
    /// The system is asked itself, when the waiting begins and when the patience is over: Linux reports room only when a
    /// third of its buffer is free, and a slow reader may need longer for that.
    fn poll_patience(&mut self, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let patience = self.patience;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if self.is_waiting {
            ready!(alarm.as_mut().poll(context));
        }
        match rustix::io::writev(&self.stream, pieces) {
            Ok(length) => {
                self.is_waiting = false;
                Poll::Ready(Ok(length))
            }
            Err(Errno::AGAIN) if !self.is_waiting => {
                self.is_waiting = true;
                alarm.as_mut().reset(Instant::now() + patience);
                alarm.as_mut().poll(context).map(|()| Err(self.give_up()))
            }
            Err(Errno::AGAIN) => Poll::Ready(Err(self.give_up())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }

    fn give_up(&self) -> io::Error {
        // Else the system would go on to offer what is in its buffer. If this fails, it does.
        let _ = self.stream.set_zero_linger();
        let reason = format!("the client takes nothing of its answer for {:?}", self.patience);
        io::Error::new(io::ErrorKind::TimedOut, reason)
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        if written.is_pending() {
            return self.poll_patience(context, pieces);
        }
        self.is_waiting = false;
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
