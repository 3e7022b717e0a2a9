//! Messages in a stream of bytes. Each has its length before it, in 4 bytes.

use std::io;

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Length in bytes of the longest message. A new player gets the whole world in one.
const LONGEST: usize = 16 << 20;
const HEAD: usize = 4;

/// Packs a message with its length.
pub fn packed(message: &impl Serialize) -> Bytes {
    let mut bytes = vec![0; HEAD];
    bytes = postcard::to_extend(message, bytes).expect("memory takes any message");
    let length = u32::try_from(bytes.len() - HEAD).expect("a message is shorter than 4 GiB");
    bytes[..HEAD].copy_from_slice(&length.to_le_bytes());
    bytes.into()
}

/// Reads messages from a stream.
pub struct Frames<R> {
    stream: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub fn new(stream: R) -> Self {
        Self { stream, buffer: BytesMut::with_capacity(1 << 16) }
    }

    /// Returns the next message, or `None` at the end of the stream. If the future is dropped, nothing is lost.
    pub async fn next<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        loop {
            if let Some(message) = self.whole()? {
                return Ok(Some(message));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    fn whole<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let Some(head) = self.buffer.first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > LONGEST {
            return Err(io::Error::other(format!("a message of {length} bytes is longer than any should be")));
        }
        if self.buffer.len() < HEAD + length {
            return Ok(None);
        }
        let frame = self.buffer.split_to(HEAD + length);
        let message = postcard::from_bytes(&frame[HEAD..]);
        message.map(Some).map_err(|error| io::Error::other(format!("a message cannot be understood: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Request;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn messages_come_as_they_were_sent_however_the_stream_is_cut() {
        let messages = [Request::Join { player: 7 }, Request::Input(vec![1; 300]), Request::Ping { number: 9 }, Request::Leave];
        let bytes: Vec<u8> = messages.iter().flat_map(|message| packed(message).to_vec()).collect();
        for size in [1, 2, 3, 7, 100, 1000] {
            let mut mock = tokio_test_stream(&bytes, size);
            let found = run(async {
                let mut found = Vec::new();
                while let Some(message) = mock.next::<Request>().await.unwrap() {
                    found.push(message);
                }
                found
            });
            assert_eq!(found, messages);
        }
    }

    #[test]
    fn a_cut_or_impossible_stream_is_an_error() {
        let bytes = packed(&Request::Ping { number: 9 }).to_vec();
        let cut = run(async { tokio_test_stream(&bytes[..bytes.len() - 1], 100).next::<Request>().await });
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let long = run(async { tokio_test_stream(&[255; 8], 100).next::<Request>().await });
        assert!(long.unwrap_err().to_string().contains("longer than any should be"));
        let unknown = run(async { tokio_test_stream(&[1, 0, 0, 0, 99], 100).next::<Request>().await });
        assert!(unknown.unwrap_err().to_string().contains("cannot be understood"));
    }

    /// Gives a stream in parts of some size.
    fn tokio_test_stream(bytes: &[u8], size: usize) -> Frames<Box<dyn AsyncRead + Unpin>> {
        let parts = bytes.chunks(size).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let joined = parts.into_iter().fold(Box::new(tokio::io::empty()) as Box<dyn AsyncRead + Unpin>, |before, part| {
            Box::new(AsyncReadExt::chain(before, io::Cursor::new(part)))
        });
        Frames::new(joined)
    }
}
