#include <iostream>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>
#include "gen-cpp/Snowflake.h"

using namespace apache::thrift;
using namespace apache::thrift::transport;

// TestClientsConverse describes what every conversation does.
int main(int, char **argv)
{
	auto transport = std::make_shared<TFramedTransport>(std::make_shared<TSocket>(argv[1], std::stoi(argv[2])));
	SnowflakeClient ids(std::make_shared<protocol::TBinaryProtocol>(transport));
	transport->open();
	std::cout << "batch:";
	for (int i = 0; i < std::stoi(argv[3]); i++)
		std::cout << " " << ids.get_id("cpp");
	try {
		ids.get_id("no agent");
	} catch (const TApplicationException &e) {
		std::cout << "\nrefused: " << e.what() << std::endl;
	}

	std::cout << "cut:" << std::endl;
	std::cin.get();
	try {
		ids.get_id("cpp");
	} catch (const TTransportException &e) {
		std::cout << "broken: " << e.what() << std::endl;
		transport->close();
		transport->open();
	}
	std::cout << "again: " << ids.get_id("cpp") << std::endl;
}
