package io.kcp4j.examples;

import io.kcp4j.KcpTracer;
import io.kcp4j.netty.KcpTracerFactory;
import io.kcp4j.trace.QlogTracer;
import io.kcp4j.trace.QlogTracer.VantagePoint;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Writes a qlog file for each session: {@code client-127.0.0.1-4000-1a2b3c4d.sqlog} is the trace of
 * a client of the session with conv 0x1a2b3c4d at that server. A file that exists is overwritten.
 */
record QlogDirectory(Path directory, VantagePoint vantagePoint) implements KcpTracerFactory {

  @Override
  public KcpTracer create(InetSocketAddress remote, int conv) {
    String side = vantagePoint.name().toLowerCase(Locale.ROOT);
    String host = remote.getAddress().getHostAddress().replaceAll("[^0-9a-fA-F.]", "_");
    String name = String.format("%s-%s-%d-%08x.sqlog", side, host, remote.getPort(), conv);
    try {
      Writer writer = Files.newBufferedWriter(Files.createDirectories(directory).resolve(name));
      return new QlogTracer(remote + " conv " + conv, vantagePoint, new FileOutput(writer));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes until the first failure, which it reports once. */
  private static final class FileOutput implements QlogTracer.Output {

    private final Writer writer;
    private boolean failed;

    FileOutput(Writer writer) {
      this.writer = writer;
    }

    @Override
    public void write(CharSequence record) {
      if (failed) {
        return;
      }
      try {
        writer.append(record);
      } catch (IOException e) {
        failed(e);
      }
    }

    @Override
    public void close() {
      try {
        writer.close();
      } catch (IOException e) {
        failed(e);
      }
    }

    private void failed(IOException e) {
      if (!failed) {
        failed = true;
        System.err.println("qlog is incomplete: " + e);
      }
    }
  }
}
