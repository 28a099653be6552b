<?php
use Thrift\Exception\TApplicationException;
use Thrift\Exception\TTransportException;
use Thrift\Protocol\TBinaryProtocol;
use Thrift\Transport\TFramedTransport;
use Thrift\Transport\TSocket;

// TestClientsConverse describes what every conversation does.
// Debian has the library in /usr/lib/php.
spl_autoload_register(fn ($name) => @include '/usr/lib/php/' . strtr(preg_replace('/^Thrift./', '', $name), '\\', '/') . '.php');
require 'gen-php/SnowflakeIf.php';
array_map(fn ($file) => require_once $file, glob('gen-php/*.php'));

[, $host, $port, $n] = $argv;
$transport = new TFramedTransport(new TSocket($host, $port));
$ids = new SnowflakeClient(new TBinaryProtocol($transport));
$transport->open();
echo 'batch:';
for ($i = 0; $i < $n; $i++) {
    echo ' ', $ids->get_id('php');
}
try {
    $ids->get_id('no agent');
} catch (TApplicationException $e) {
    echo "\nrefused: ", $e->getMessage(), "\n";
}

echo "cut:\n";
fgets(STDIN);
try {
    $ids->get_id('php');
} catch (TTransportException $e) {
    echo 'broken: ', $e->getMessage(), "\n";
    $transport->close();
    $transport->open();
}
echo 'again: ', $ids->get_id('php'), "\n";
