package io.kcp4j.smux;

/**
 * Why a smux session or stream failed. Has no stack trace, because peers can cause failures at
 * will.
 */
public final class SmuxException extends Exception {

  SmuxException(String message) {
    super(message, null, false, false);
  }
}
