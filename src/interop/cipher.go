package main

import (
	"crypto/pbkdf2"
	"crypto/sha1"
	"strings"
	"sync"

	"github.com/xtaci/kcp-go/v5"
	"golang.org/x/crypto/chacha20poly1305"
)

// A packetCipher is what a name stands for: kcptun's names, and three more AEADs.
type packetCipher struct {
	name     string
	keyBytes int
	make     func(key []byte) (kcp.BlockCrypt, error)
}

var packetCiphers = []packetCipher{
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

// A serialCipher does one thing at a time.
type serialCipher struct {
	mu     sync.Mutex
	cipher kcp.BlockCrypt
}

// newSM4 is kcp-go's with a lock: the SM4 that it takes from a library has one scratch for both
// directions, so that a session spoils some of its packets when it seals and opens at once.
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

func cipherOf(name string) (packetCipher, error) {
	for _, c := range packetCiphers {
		if c.name == name {
			return c, nil
		}
	}
	return packetCipher{}, usageErrorf("--crypt %q: expected one of %s", name, cipherNames())
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
	return c.make(key[:c.keyBytes])
}

func cipherNames() string {
	names := make([]string, len(packetCiphers))
	for i, c := range packetCiphers {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}
