package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestFilesAreServed(t *testing.T) {
	for _, kind := range []string{goHTTP, nginx} {
		t.Run(kind, func(t *testing.T) {
			if _, err := exec.LookPath(kind); kind == nginx && err != nil {
				t.Skip("nginx is not installed")
			}
			directory := t.TempDir()
			if err := os.WriteFile(filepath.Join(directory, "file"), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			server, err := newFileServer(kind, directory)
			if err != nil {
				t.Fatal(err)
			}
			defer server.close()
			response, err := http.Get("http://" + server.address() + "/file")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if content, err := io.ReadAll(response.Body); string(content) != "text" || err != nil {
				t.Errorf("%q, %v", content, err)
			}
		})
	}
}

func TestAnUnknownFileServerIsRefused(t *testing.T) {
	if _, err := chooseFileServer("apache"); err == nil {
		t.Error("no error")
	}
	if kind, err := chooseFileServer(goHTTP); kind != goHTTP || err != nil {
		t.Errorf("%q, %v", kind, err)
	}
}
