package client

import (
	"net"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sandertv/gophertunnel/minecraft"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"
)

const patience = 5 * time.Second

// await returns the next arrival that a test looks for.
func await[T any](t *testing.T, c *Client) (found T) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case arrival := <-c.Arrivals():
			if content, ok := arrival.Content.(T); ok {
				return content
			}
			if err, ended := arrival.Content.(error); ended {
				t.Fatalf("waiting for %T, the connection ended: %v", found, err)
			}
		case <-limit:
			t.Fatalf("no %T arrived", found)
		}
	}
}

// listen starts a server, and gives every player to serve.
func listen(t *testing.T, serve func(*minecraft.Listener, *minecraft.Conn)) string {
	t.Helper()
	listener, err := minecraft.ListenConfig{AuthenticationDisabled: true}.Listen("raknet", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(listener, accepted.(*minecraft.Conn))
		}
	}()
	return listener.Addr().String()
}

func TestAPlayerJoinsAndLeaves(t *testing.T) {
	asked, left := make(chan minecraft.GameData, 1), make(chan time.Time, 1)
	names, spawned := make(chan string, 1), make(chan struct{})
	address := listen(t, func(_ *minecraft.Listener, conn *minecraft.Conn) {
		if err := conn.StartGame(minecraft.GameData{EntityRuntimeID: 7}); err != nil {
			t.Error(err)
			return
		}
		asked <- conn.GameData()
		names <- conn.IdentityData().DisplayName + " " + conn.IdentityData().Identity
		<-spawned // Packets may arrive before the player learns that it has spawned.
		conn.WritePacket(&packet.UpdateBlock{NewBlockRuntimeID: 12})
		conn.WritePacket(&packet.SetTime{})
		conn.WritePacket(&packet.UpdateBlock{NewBlockRuntimeID: 13})
		conn.Flush()
		for {
			if _, err := conn.ReadPacket(); err != nil {
				left <- time.Now()
				return
			}
		}
	})
	c, err := Open(address, "p000", 6)
	if err != nil {
		t.Fatal(err)
	}
	if game := await[Spawned](t, c).Game; game.EntityRuntimeID != 7 {
		t.Errorf("the player has the number %d in the game", game.EntityRuntimeID)
	}
	close(spawned)
	if game := <-asked; game.ChunkRadius != 6 {
		t.Errorf("the player asks for %d chunks, wanted 6", game.ChunkRadius)
	}
	if name, identity := <-names, Identity("p000"); name != "p000 "+identity.Identity {
		t.Errorf("the server knows the player as %q", name)
	}
	for _, want := range []uint32{12, 13} {
		if got := await[*packet.UpdateBlock](t, c).NewBlockRuntimeID; got != want {
			t.Errorf("block %d arrived, wanted %d", got, want)
		}
	}
	leaving := time.Now()
	c.Leave()
	select {
	case at := <-left:
		if at.Sub(leaving) > time.Second/2 {
			t.Errorf("the server noticed the leave after %s", at.Sub(leaving))
		}
	case <-time.After(patience):
		t.Error("the server did not notice the leave")
	}
	if counts := c.Close(); counts.PacketsSent == 0 || counts.BytesReceived == 0 {
		t.Errorf("the traffic is %+v", counts)
	}
}

func TestARefusalHasItsReason(t *testing.T) {
	address := listen(t, func(listener *minecraft.Listener, conn *minecraft.Conn) {
		listener.Disconnect(conn, "no place for you")
	})
	c, err := Open(address, "p000", 6)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := await[*packet.Disconnect](t, c).Message; got != "no place for you" {
		t.Errorf("the reason is %q", got)
	}
}

func TestNothingListens(t *testing.T) {
	c, err := Open("127.0.0.1:1", "p000", 6)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	arrival := <-c.Arrivals()
	if err, ended := arrival.Content.(error); !ended || err.Error() != "nothing listens at 127.0.0.1:1" {
		t.Errorf("what arrived is %v", arrival.Content)
	}
}

// A player whose join has timed out must leave nothing behind that waits for the server.
func TestASilentServerHoldsNothing(t *testing.T) {
	silent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stacks := func() string {
		buffer := make([]byte, 1<<20)
		return string(buffer[:runtime.Stack(buffer, true)])
	}
	c, err := Open(silent.LocalAddr().String(), "p000", 6)
	if err != nil {
		t.Fatal(err)
	}
	silent.Read(make([]byte, 2000)) // The dial has begun.
	if c.Answered() || !strings.Contains(stacks(), "client.(*Client).run") {
		t.Error("the player does not wait for the server")
	}
	c.Close()
	for end := time.Now().Add(patience); strings.Contains(stacks(), "client.(*Client).run"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the dial goes on after the player was closed")
		}
	}
}

func TestIdentity(t *testing.T) {
	one, two := Identity("p000"), Identity("p001")
	if one.Identity != Identity("p000").Identity || one.Identity == two.Identity || one.DisplayName != "p000" {
		t.Errorf("the identities are %+v and %+v", one, two)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(one.Identity) {
		t.Errorf("%q is not a UUID of a name", one.Identity)
	}
}

func TestADamagedPacketIsAnError(t *testing.T) {
	if err := decode(&packet.UpdateBlock{}, []byte{1}); err == nil {
		t.Error("half a packet was read without an error")
	}
}
