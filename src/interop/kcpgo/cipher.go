package kcpgo

import (
	"crypto/pbkdf2"
	"crypto/sha1"
	"strings"
	"sync"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/xtaci/kcp-go/v5"
	"golang.org/x/crypto/chacha20poly1305"
)

// A Cipher is what a name of the flag --crypt stands for.
type Cipher struct {
	Name     string
	KeyBytes int
	New      func(key []byte) (kcp.BlockCrypt, error)
}

// Ciphers are those of kcptun, under its names, and three more AEADs.
var Ciphers = []Cipher{
	{"aes", 32, kcp.NewAESBlockCrypt},
	{"aes-192", 24, kcp.NewAESBlockCrypt},
	{"aes-128", 16, kcp.NewAESBlockCrypt},
	{"aes-128-gcm", 16, kcp.NewAESGCMCrypt},
	{"aes-192-gcm", 24, kcp.NewAESGCMCrypt},
	{"aes-256-gcm", 32, kcp.NewAESGCMCrypt},
	{"chacha20-poly1305", 32, newChaCha20Poly1305},
	{"salsa20", 32, kcp.NewSalsa20BlockCrypt},
	{"blowfish", 32, kcp.NewBlowfishBlockCrypt},
	{"twofish", 32, kcp.NewTwofishBlockCrypt},
	{"cast5", 16, kcp.NewCast5BlockCrypt},
	{"3des", 24, kcp.NewTripleDESBlockCrypt},
	{"tea", 16, kcp.NewTEABlockCrypt},
	{"xtea", 16, kcp.NewXTEABlockCrypt},
	{"xor", 32, kcp.NewSimpleXORBlockCrypt},
	{"sm4", 16, newSM4},
	{"none", 32, kcp.NewNoneBlockCrypt},
	{"null", 32, func([]byte) (kcp.BlockCrypt, error) { return nil, nil }},
}

// A serialCipher encrypts or decrypts one packet at a time.
type serialCipher struct {
	mu     sync.Mutex
	cipher kcp.BlockCrypt
}

// newSM4 is kcp-go's with a lock. The library that kcp-go takes SM4 from has one scratch buffer
// for both directions: a session that encrypts and decrypts at the same time corrupts packets.
func newSM4(key []byte) (kcp.BlockCrypt, error) {
	cipher, err := kcp.NewSM4BlockCrypt(key)
	return &serialCipher{cipher: cipher}, err
}

func (c *serialCipher) Encrypt(dst, src []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cipher.Encrypt(dst, src)
}

func (c *serialCipher) Decrypt(dst, src []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cipher.Decrypt(dst, src)
}

func newChaCha20Poly1305(key []byte) (kcp.BlockCrypt, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	return kcp.NewAEADCrypt(aead), nil
}

func cipherOf(name string) (Cipher, error) {
	for _, c := range Ciphers {
		if c.Name == name {
			return c, nil
		}
	}
	return Cipher{}, cli.UsageErrorf("--crypt %q: expected one of %s", name, cipherNames())
}

// newCipher derives the key as kcptun does. The cipher of "null" is nil: no crypto layer.
func newCipher(name, passphrase string) (kcp.BlockCrypt, error) {
	c, err := cipherOf(name)
	if err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(sha1.New, passphrase, []byte("kcp-go"), 4096, 32)
	if err != nil {
		return nil, err
	}
	return c.New(key[:c.KeyBytes])
}

func cipherNames() string {
	names := make([]string, len(Ciphers))
	for i, c := range Ciphers {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
