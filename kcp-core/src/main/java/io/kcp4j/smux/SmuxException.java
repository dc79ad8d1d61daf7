package io.kcp4j.smux;

/** Why a smux session or stream failed. */
public final class SmuxException extends Exception {

  SmuxException(String message) {
    super(message);
  }
}
