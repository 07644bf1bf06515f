//! TTHeader around a framed message. By cloudwego's codec, `gopkg/protocol/ttheader`.

use bytes::BufMut;

use super::{Cursor, FrameError, Head, HeadStop, Request, thrift, unlike};

const MAGIC: u16 = 0x1000;
/// The longest block of information that is read. A server has little to say there.
const MAX_INFO: usize = 64 << 10;
/// Words of the header behind the fixed part: protocol 0, which kitex has for either kind of message, no transforms, no information.
const INFO: [u8; 4] = [0; 4];

/// A request with a header that says nothing but its length and number.
pub(super) fn around(request: Request) -> Request {
    let mut header = Vec::with_capacity(18);
    header.put_u32(0);
    header.put_u16(MAGIC);
    header.put_u16(0);
    let id_at = header.len();
    header.put_u32(0);
    header.put_u16((INFO.len() / 4) as u16);
    header.put_slice(&INFO);
    let len = (header.len() - size_of::<u32>() + request.frame_len()) as u32;
    header[..size_of::<u32>()].copy_from_slice(&len.to_be_bytes());
    request.behind(&header, id_at)
}

/// The heads of both. The number is the message's, which a server must repeat, while some set none in the header.
pub(super) fn head(input: &mut Cursor<'_>, limit: usize, magic: u16) -> Result<Head, HeadStop> {
    let len = input.u32()? as usize;
    let begin = input.at();
    let found = input.array().map(u16::from_be_bytes)?;
    if found != MAGIC {
        return Err(unlike(format!("{found:#06x} where a TTHeader has {MAGIC:#06x}")));
    }
    if len > limit {
        return Err(HeadStop::Wrong(FrameError::TooLong { len, limit }));
    }
    let [_flags, _id] = [input.take(2)?, input.take(4)?];
    let info = 4 * usize::from(input.array().map(u16::from_be_bytes)?);
    if info > MAX_INFO {
        return Err(unlike(format!("a TTHeader of {info} bytes, over the limit of {MAX_INFO}")));
    }
    input.take(info)?;
    let message = thrift::head(input, limit, magic)?;
    // What follows the message in the frame belongs to its body, where it isn't looked at.
    match len.checked_sub(input.at() - begin) {
        Some(body) if body >= message.body => Ok(Head { body, ..message }),
        _ => Err(unlike(format!("a message that goes beyond its TTHeader's {len} bytes"))),
    }
}
