package luanti

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"math/big"
	"strings"
)

// SRP-6a (RFC 5054) in Luanti's form: it uses SHA-256 and the group of 2048 bits, and makes the verifier from the name in lower
// case. A player's first join in a world registers a verifier. A later join proves the password.
const (
	password       = "tickdisk"
	groupSizeBytes = 256
	groupPrime     = "AC6BDB41324A9A9BF166DE5E1389582FAF72B6651987EE07FC3192943DB56050A37329CBB4A099ED8193E0757767A13DD52312AB4B03310D" +
		"CD7F48A9DA04FD50E8083969EDB767B0CF6095179A163AB3661A05FBD5FAAAE82918A9962F0B93B855F97993EC975EEAA80D740ADBF4FF747359D041D5C3" +
		"3EA71D281E446B14773BCA97B43A23FB801676BD207A436C6481F1D2B9078717461A5B9D32E688F87748544523B524B0D57D5EA77A2775D2ECFA032CFBDB" +
		"F52FB3786160279004E57AE6AF874E7303CE53299CCC041C7BC308D82A5698F3A8D0C38271AE35F8E9DBFBB694B5C803D89F7AE435DE236D525F54759B65" +
		"E372FCD68EF20FA7111F9E4AFF73"
)

var (
	prime, _  = new(big.Int).SetString(groupPrime, 16)
	generator = big.NewInt(2)
)

func digest(parts ...[]byte) []byte {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part)
	}
	return hash.Sum(nil)
}

func number(bytes []byte) *big.Int { return new(big.Int).SetBytes(bytes) }

func padded(value *big.Int) []byte { return value.FillBytes(make([]byte, groupSizeBytes)) }

func random(size int) []byte {
	bytes := make([]byte, size)
	rand.Read(bytes)
	return bytes
}

func passwordKey(name string, salt []byte) *big.Int {
	return number(digest(salt, digest([]byte(strings.ToLower(name)+":"+password))))
}

// newVerifier returns the salt and the verifier with which a player is registered.
func newVerifier(name string) (salt, verifier []byte) {
	salt = random(16)
	return salt, new(big.Int).Exp(generator, passwordKey(name, salt), prime).Bytes()
}

// login is the client's side of one proof of the password.
type login struct {
	name    string
	secret  *big.Int
	public  *big.Int
	session []byte
}

func newLogin(name string) *login {
	secret := number(random(32))
	return &login{name: name, secret: secret, public: new(big.Int).Exp(generator, secret, prime)}
}

// proof returns the client's proof (M), given the server's salt and public value (B).
func (l *login) proof(salt, serverPublic []byte) ([]byte, error) {
	b := number(serverPublic)
	if new(big.Int).Mod(b, prime).Sign() == 0 {
		return nil, errors.New("the server's SRP value is 0")
	}
	scramble := number(digest(padded(l.public), padded(b)))
	multiplier := number(digest(padded(prime), padded(generator)))
	key := passwordKey(l.name, salt)
	base := new(big.Int).Sub(b, new(big.Int).Mul(multiplier, new(big.Int).Exp(generator, key, prime)))
	exponent := new(big.Int).Add(l.secret, new(big.Int).Mul(scramble, key))
	l.session = digest(new(big.Int).Exp(base.Mod(base, prime), exponent, prime).Bytes())
	mixed := digest(prime.Bytes())
	subtle.XORBytes(mixed, mixed, digest(generator.Bytes()))
	return digest(mixed, digest([]byte(l.name)), salt, l.public.Bytes(), b.Bytes(), l.session), nil
}
