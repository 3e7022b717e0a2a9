package protocol

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of the protocol.
const (
	longestFrame   = 1<<21 - 1
	longestContent = 1 << 23
)

// Packet is a packet from the server.
type Packet struct {
	Number  Number
	Content []byte
}

// AppendFrame appends a packet as it is sent, with its length. A client may always send its packets uncompressed.
func AppendFrame(frames, packet []byte, compression bool) []byte {
	if compression {
		return append(append(binary.AppendUvarint(frames, uint64(len(packet)+1)), 0), packet...)
	}
	return append(binary.AppendUvarint(frames, uint64(len(packet))), packet...)
}

// Reader takes packets from a stream, and follows the state of the connection.
type Reader struct {
	source      *bufio.Reader
	frame       []byte
	state       Number
	compression bool
}

// NewReader returns a reader of a connection that begins with the login.
func NewReader(source io.Reader) *Reader {
	return &Reader{source: bufio.NewReaderSize(source, 1<<16)}
}

// Next reads the next packet as it was sent, without its length. The bytes are valid until the next call.
func (r *Reader) Next() ([]byte, error) {
	length, err := binary.ReadUvarint(r.source)
	if err != nil {
		return nil, err
	}
	if length > longestFrame {
		return nil, fmt.Errorf("the server sent a frame of %d bytes; it does not speak this protocol", length)
	}
	if uint64(cap(r.frame)) < length {
		r.frame = make([]byte, length)
	}
	r.frame = r.frame[:length]
	_, err = io.ReadFull(r.source, r.frame)
	return r.frame, err
}

// Packet returns a packet from the bytes that were sent, and whether a player needs it.
func (r *Reader) Packet(frame []byte) (packet Packet, needed bool, err error) {
	if r.compression {
		if frame, err = inflate(frame); err != nil {
			return Packet{}, false, err
		}
	}
	number, size := binary.Uvarint(frame)
	if size <= 0 {
		return Packet{}, false, errors.New("the server sent a packet without a number")
	}
	packet.Number = r.state | Number(number)
	switch packet.Number {
	case SetCompression:
		r.compression = true
	case LoginSuccess:
		r.state = configuration
	case FinishConfiguration:
		r.state = play
	}
	length, needed := kept[packet.Number]
	if needed {
		content := frame[size:]
		packet.Content = bytes.Clone(content[:min(length, len(content))])
	}
	return packet, needed, nil
}

// inflate returns a packet from the bytes that were sent, which begin with the packet's length. The length 0 means that it is not compressed.
func inflate(frame []byte) ([]byte, error) {
	length, size := binary.Uvarint(frame)
	if size <= 0 || length > longestContent {
		return nil, errors.New("the server sent a compressed packet of unknown length")
	}
	if length == 0 {
		return frame[size:], nil
	}
	source, err := zlib.NewReader(bytes.NewReader(frame[size:]))
	if err != nil {
		return nil, fmt.Errorf("a compressed packet cannot be read: %w", err)
	}
	packet := make([]byte, length)
	if _, err := io.ReadFull(source, packet); err != nil {
		return nil, fmt.Errorf("a compressed packet cannot be read: %w", err)
	}
	return packet, nil
}
