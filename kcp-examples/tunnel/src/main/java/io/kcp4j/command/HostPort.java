package io.kcp4j.command;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * An address on the command line: {@code example.org:4000}, {@code [::1]:4000}, or {@code :4000}
 * for every local address.
 */
public record HostPort(String host, int port) {

  /** Parses {@code HOST:PORT}. */
  public static final class Converter implements ITypeConverter<HostPort> {
    @Override
    public HostPort convert(String text) {
      int colon = text.lastIndexOf(':');
      try {
        int port = Integer.parseInt(text.substring(colon + 1));
        if (colon >= 0 && port >= 0 && port <= 65535) {
          return new HostPort(withoutBrackets(text.substring(0, colon)), port);
        }
      } catch (NumberFormatException e) {
        // Reported below.
      }
      throw new TypeConversionException("'" + text + "' is not HOST:PORT with a port up to 65535");
    }

    private static String withoutBrackets(String host) {
      boolean bracketed = host.startsWith("[") && host.endsWith("]");
      return bracketed ? host.substring(1, host.length() - 1) : host;
    }
  }

  /** The address to listen on. */
  public InetSocketAddress local() throws CommandFailure {
    return host.isEmpty() ? new InetSocketAddress(port) : remote();
  }

  /** The address to send to. */
  public InetSocketAddress remote() throws CommandFailure {
    try {
      return new InetSocketAddress(InetAddress.getByName(host), port);
    } catch (UnknownHostException e) {
      throw new CommandFailure("unknown host: " + host);
    }
  }

  /** {@code HOST:PORT} of a socket address, an IPv6 one in brackets. */
  public static String format(InetSocketAddress address) {
    String host = address.getAddress().getHostAddress();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
