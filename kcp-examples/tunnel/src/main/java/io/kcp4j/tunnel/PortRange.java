package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.TypeConversionException;

/** {@code HOST:PORT} or {@code HOST:MINPORT-MAXPORT}. */
record PortRange(HostPort first, int maxPort) {

  /**
   * Parses an address.
   *
   * @throws IllegalArgumentException if it is none
   */
  static PortRange parse(String option, String text) {
    int colon = text.lastIndexOf(':');
    int dash = text.indexOf('-', colon + 1);
    HostPort first = address(option, dash < 0 ? text : text.substring(0, dash));
    HostPort last =
        dash < 0 ? first : address(option, text.substring(0, colon + 1) + text.substring(dash + 1));
    if (last.port() < first.port() || (dash >= 0 && first.port() == 0)) {
      throw new IllegalArgumentException(
          option + ": " + text + " (expected: HOST:MINPORT-MAXPORT with MINPORT <= MAXPORT)");
    }
    return new PortRange(first, last.port());
  }

  /**
   * Parses an address to connect to, with one port.
   *
   * @throws IllegalArgumentException if it is none
   */
  static PortRange single(String option, String text) {
    HostPort address = address(option, text);
    if (address.port() == 0) {
      throw new IllegalArgumentException(option + ": " + text + " (expected: a port)");
    }
    return new PortRange(address, address.port());
  }

  /**
   * Parses an address with one port.
   *
   * @throws IllegalArgumentException if it is none
   */
  static HostPort address(String option, String text) {
    try {
      return new HostPort.Converter().convert(text);
    } catch (TypeConversionException e) {
      throw new IllegalArgumentException(option + ": " + e.getMessage(), e);
    }
  }

  /** How many ports there are. */
  int ports() {
    return maxPort - first.port() + 1;
  }

  /** All addresses, to listen on. */
  List<InetSocketAddress> local() throws CommandFailure {
    List<InetSocketAddress> addresses = new ArrayList<>();
    for (int port = first.port(); port <= maxPort; port++) {
      addresses.add(new HostPort(first.host(), port).local());
    }
    return addresses;
  }

  @Override
  public String toString() {
    return ports() == 1 ? first.toString() : first + "-" + maxPort;
  }
}
